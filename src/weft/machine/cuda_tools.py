"""NVIDIA's tools that a program in PTX may need: where they are, if they are installed at all.

Looked for, in this order: the folder in ``CUDA_HOME`` (or ``CUDA_PATH``), the wheels ``nvidia-cuda-nvcc``,
``nvidia-nvvm`` and ``nvidia-cuda-nvdisasm`` on Python's path, ``/usr/local/cuda``, and for programs ``PATH``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

LIBDEVICE = Path("nvvm", "libdevice", "libdevice.10.bc")
"""The library of mathematics, within a toolkit."""


def find_program(name: str) -> Path | None:
    """Return where ``ptxas``, ``nvdisasm`` or another program of the toolkit is; None where there is none."""
    for root in _toolkits():
        found = root / "bin" / name
        if os.access(found, os.X_OK):
            return found
    found = shutil.which(name)
    return Path(found) if found else None


def find_libdevice() -> Path | None:
    """Return where the bitcode of NVIDIA's library of mathematics is; None where it is not installed."""
    return next((root / LIBDEVICE for root in _toolkits() if (root / LIBDEVICE).is_file()), None)


def _toolkits() -> Iterator[Path]:
    """The folders that are laid out as a toolkit is."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    for entry in sys.path:
        # Wheels since CUDA 13 share a folder; those of CUDA 12 have one for each package.
        yield from sorted(Path(entry or ".").glob("nvidia/cu[0-9]*"), reverse=True)
        yield from sorted(Path(entry or ".").glob("nvidia/cuda_nvcc"))
    yield Path("/usr/local/cuda")
