#!/usr/bin/env bash
# Install the system packages that the whole test suite needs, or those that are named. Quick when nothing is missing.
#
# usage: ci_deps.sh [PACKAGE...]
set -euo pipefail

packages=(
    g++ make python3-venv      # build Horovod, make .venv
    chromium                   # look at the report
    slurm-wlm munge            # a scheduler to test against
    slurmdbd mariadb-server    # its accounting
    gfortran libopenmpi-dev openmpi-bin  # simulation codes in Fortran
    nwchem                     # molecules by another code than PySCF
)
if [ $# -gt 0 ]; then packages=("$@"); fi

if ! command -v apt-get >/dev/null; then
    echo "This machine has no apt-get. Install by its own means: ${packages[*]}" >&2
    exit 1
fi
missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    if [ "$status" != installed ]; then missing+=("$package"); fi
done
if [ ${#missing[@]} -eq 0 ]; then
    echo "All system packages are installed."
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Ask an administrator to install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
fi
echo "Installing ${missing[*]} …"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# No service is started by the packages: the tests start their own.
install() {
    "${as_root[@]}" apt-get update --quiet --quiet \
        && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
            apt-get install --quiet --quiet --yes --no-install-recommends "${missing[@]}"
}
for attempt in 1 2 3; do
    if install >"$log" 2>&1; then
        echo "Done."
        exit 0
    fi
    echo "Attempt $attempt failed." >&2
    sleep 5
done
tail -30 "$log" >&2
exit 1
