#!/usr/bin/env bash
# Make an environment: Python's own venv, uv by its locked hash, the locked packages, this project in place, Horovod.
# Running it again adds what is missing and removes nothing.
#
# usage: setup.sh [FOLDER [MPI]]    .venv and mpich by default
set -euo pipefail
cd "$(dirname "$0")/.."
env=${1:-.venv}
mpi=${2:-mpich}

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

fitting_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "Python 3.11, 3.12 or 3.13 is needed, and none was found on PATH. Install one, or name it: make PYTHON=/path/to/python3.12"
}

# Horovod is built from source once. Without a compiler that fails, which is told now and not after minutes of installing.
if [ -z "${SURROGATE_WITHOUT_HOROVOD:-}" ]; then
    compiler=${CXX:-c++}
    cache=${SURROGATE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}}/surrogate/horovod
    if ! { command -v "${compiler%% *}" || command -v g++ || compgen -G "$cache/*/horovod-*.whl"; } >/dev/null; then
        fail "A C++17 compiler is needed to build Horovod, and none was found on PATH. On Debian and Ubuntu: make build-deps," \
            "or apt-get install g++. To do without Horovod, and train on one rank only: SURROGATE_WITHOUT_HOROVOD=1 make …"
    fi
fi

# An environment that was moved, copied or outlived its Python is made anew.
usable() {
    "$env"/bin/python -c 'import pathlib, sys; sys.exit(pathlib.Path(sys.prefix).resolve() != pathlib.Path(sys.argv[1]).resolve())' "$env" \
        2>/dev/null && { [ ! -e "$env"/bin/uv ] || "$env"/bin/uv --version >/dev/null 2>&1; } \
        && { [ ! -e "$env"/bin/surrogate ] || head -1 "$env"/bin/surrogate | grep -qF "$PWD/$env/"; }
}

if [ -e "$env" ] && ! usable; then
    say "The environment in $env does not belong to this folder or lost its Python; it is made anew."
    rm -rf "$env"
fi
if [ ! -e "$env" ]; then
    python=$(fitting_python)
    say "Making $env with $("$python" --version) …"
    "$python" -m venv "$env" || {
        rm -rf "$env"
        fail "Python could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv"
    }
fi

# pip's settings know the site's mirror; uv does not read them, so they are handed on.
if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    mirror=${PIP_INDEX_URL:-$("$env"/bin/python -m pip config get global.index-url 2>/dev/null || true)}
    if [ -n "$mirror" ]; then export UV_DEFAULT_INDEX=$mirror; fi
fi

say "Installing what is locked …"
"$env"/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
# `uv pip install`, not `sync`: what was built here (Horovod) stays.
"$env"/bin/uv --no-config pip install --quiet --compile-bytecode --python "$env"/bin/python --require-hashes \
    -r requirements/dev.txt -r "requirements/$mpi.txt"
"$env"/bin/uv --no-config pip install --quiet --python "$env"/bin/python --no-deps --no-build-isolation --editable .
if [ -z "${SURROGATE_WITHOUT_HOROVOD:-}" ]; then
    "$env"/bin/python -m workflows.horovod_build
fi
say "The environment is ready: $PWD/$env"
