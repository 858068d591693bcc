"""The words that put a program inside an image: the launcher stays outside, and each rank is one instance."""

from __future__ import annotations

import shlex

from site_configs.settings import Container

GPU_FLAGS = {"apptainer": "--nv", "shifter": "--module=gpu", "podman-hpc": "--gpu"}


def container_words(container: Container, *, gpus: bool) -> tuple[str, ...]:
    """Return the words that stand before a program so that it runs inside an image.

    Args:
        container: The image and its runtime.
        gpus: Whether the program has GPUs.
    """
    runtime = container.program or container.runtime
    flags = ((container.gpu_flag or GPU_FLAGS[container.runtime]),) if gpus else ()
    if container.runtime == "apptainer":
        binds = tuple(f"--bind={bind}" for bind in container.binds)
        return (runtime, "exec", *flags, *binds, *container.options, container.image)
    binds = tuple(f"--volume={bind if ':' in bind else f'{bind}:{bind}'}" for bind in container.binds)
    if container.runtime == "shifter":
        return (runtime, f"--image={container.image}", *flags, *binds, *container.options)
    # The other two begin in the folder they are called from and with its variables; this one must be told.
    call = shlex.join((runtime, "run", "--rm", "--mpi", *flags, *binds, *container.options))
    return ("bash", "-c", f'exec {call} --env-host --workdir="$PWD" {shlex.quote(container.image)} "$@"', runtime)
