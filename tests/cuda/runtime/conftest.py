"""The CUDA runtime, made once for a run of the tests, and hosts that load it."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for ``LD_LIBRARY_PATH``; processes of one run take turns, so one of them makes the library."""
    from weft.cuda.runtime.library import library_folder

    with open(tmp_path_factory.getbasetemp().parent / "weft-cuda-runtime.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return library_folder()


@pytest.fixture
def host(libraries: Path, tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Run a Python program that calls the runtime as nvcc's code does; what it prints, and its error stream."""

    def run(program: str, **environment: str) -> tuple[str, str]:
        file = tmp_path / "host.py"
        file.write_text(f"from host_program import *\n{program}")
        here = str(Path(__file__).parent)
        paths = os.pathsep.join((here, os.environ.get("PYTHONPATH", "")))
        settings = {
            "WEFT_TEST_CUDART": str(libraries / "libcudart.so.13"),
            "PYTHONPATH": paths,
            "WEFT_CHECK": "0",
        }
        done = subprocess.run(
            [sys.executable, str(file)],
            env={**os.environ, **settings, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    return run
