"""The driver, made once for a run of the tests, and hosts that load it."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for ``OCL_ICD_VENDORS``; processes of one run take turns, so one of them makes the driver."""
    from weft.opencl.driver_library import vendor_folder

    with open(tmp_path_factory.getbasetemp().parent / "weft-driver.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return vendor_folder()


@pytest.fixture
def host(host_streams: Callable[..., tuple[str, str]]) -> Callable[..., str]:
    """Run a Python program that uses OpenCL through pyopencl, in a process of its own; what it prints."""
    return lambda program, **environment: host_streams(program, **environment)[0]


@pytest.fixture
def host_streams(vendors: Path, tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """The same; what it prints, and its standard error stream."""

    def run(program: str, **environment: str) -> tuple[str, str]:
        file = tmp_path / "host.py"
        file.write_text(_BEGIN + program)
        settings = {"OCL_ICD_VENDORS": str(vendors), "PYOPENCL_NO_CACHE": "1", "WEFT_CHECK": "0"}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(file)],
            env={**os.environ, **settings, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    return run


_BEGIN = """
import numpy as np
import pyopencl as cl

flags = cl.mem_flags
[platform] = cl.get_platforms()
[device] = platform.get_devices()
context = cl.Context([device])
queue = cl.CommandQueue(context)


def refuses(code, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except cl.Error as error:
        assert error.code == code, (error.code, code)
    else:
        raise AssertionError("accepted")


def buffer(array):
    return cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=array)


def read(memory, like):
    result = np.empty_like(like)
    cl.enqueue_copy(queue, result, memory)
    return result


"""
