"""OpenCL runtimes as peers, through pyopencl: PoCL and Intel's, where they are installed."""

from __future__ import annotations

import importlib.metadata
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.groups.rows import Launch
from bench.harness import Prepared
from bench.speed.peers import Task

SOURCES = Path(__file__).parent / "opencl"
OPTIONS = ("-cl-mad-enable", "-cl-finite-math-only", "-cl-unsafe-math-optimizations", f"-I{SOURCES}")
"""What -ffast-math is in C: numbers may be contracted, reassociated and divided by way of the reciprocal.

With -cl-fast-relaxed-math Intel's rsqrt is the processor's estimate, of 14 bits, which the others refine by a step of
Newton's; the check of n-body does not let that pass.
"""

POCL, INTEL = "Portable Computing Language", "Intel(R) OpenCL"
"""Names of their platforms."""


def pocl(task: Task, threads: int, folder: Path) -> Prepared:
    """Return PoCL, which compiles a kernel at its first launch."""
    choose_pocl(threads, folder)
    return _prepared(task, POCL)


def choose_pocl(threads: int, folder: Path) -> None:
    """Let this process find PoCL, on so many threads, with an empty cache."""
    os.environ["POCL_MAX_PTHREAD_COUNT"] = str(threads)
    os.environ["POCL_CACHE_DIR"] = str(folder)


def intel(task: Task, threads: int, folder: Path) -> Prepared:
    """Return Intel's runtime for CPUs."""
    choose_intel(threads, folder)
    return _prepared(task, INTEL)


def choose_intel(threads: int, folder: Path) -> None:
    """Let this process find Intel's runtime, on so many threads: that of the package, or one that the system knows."""
    os.environ["CL_CONFIG_CPU_TBB_NUM_WORKERS"] = str(threads)
    try:
        files = importlib.metadata.files("intel-opencl-rt") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    libraries = [file.locate() for file in files if file.name == "libintelocl.so"]
    if libraries:
        registered = folder / "intel.icd"
        registered.write_text(f"{Path(str(libraries[0])).resolve()}\n")
        os.environ["OCL_ICD_VENDORS"] = str(registered)


def _prepared(task: Task, platform_name: str) -> Prepared:
    import pyopencl as cl

    # What compilers say goes to the terminal as warnings.
    warnings.simplefilter("ignore", cl.CompilerWarning)
    context = cl.Context([device_of(platform_name)])
    queue = cl.CommandQueue(context)
    problem = task.own_problem()
    launches = task.row.launches(problem)
    # The arrays themselves, in pages as large as the other peers have: both runtimes work in place.
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    buffers = {
        id(a): cl.Buffer(context, flags, hostbuf=a)
        for launch in launches
        for a in launch.arguments
        if isinstance(a, np.ndarray)
    }
    begin = time.perf_counter()
    program = cl.Program(context, (SOURCES / f"{task.row.peer}.cl").read_text())
    program.build(list(OPTIONS), cache_dir=False)
    enqueue = [_enqueuer(cl, queue, program, launch, buffers) for launch in launches]

    def run() -> None:
        for launch in enqueue:
            launch()
        queue.finish()

    run()
    compile_seconds = time.perf_counter() - begin
    for i in problem.outputs:
        problem.arguments[i][...] = task.problem.arguments[i]
    written = [problem.arguments[i] for i in problem.outputs]
    mapped: list[Any] = []

    def download() -> None:
        flags = cl.map_flags.READ | cl.map_flags.WRITE
        for a in written:
            array, _ = cl.enqueue_map_buffer(queue, buffers[id(a)], flags, 0, a.shape, a.dtype)
            assert array.ctypes.data == a.ctypes.data
            mapped.append(array)

    def upload() -> None:
        while mapped:
            mapped.pop().base.release(queue)
        queue.finish()

    download()
    return task.prepared(problem, run, compile_seconds, upload, download)


def device_of(platform_name: str) -> Any:
    """Return the device of a platform.

    Raises
    ------
    ImportError
        It is not installed.
    """
    import pyopencl as cl

    try:
        platforms = cl.get_platforms()
    except cl.LogicError:
        platforms = []
    for platform in platforms:
        if platform.name == platform_name:
            return platform.get_devices(cl.device_type.CPU)[0]
    raise ImportError("no such OpenCL runtime is registered")


def _enqueuer(
    cl: Any, queue: Any, program: Any, launch: Launch, buffers: dict[int, Any]
) -> Callable[[], object]:
    """Return a launch with its arguments set: an array as its buffer and extents, a Python int as 32 bits."""
    kernel = cl.Kernel(program, launch.name)
    passed: list[Any] = []
    for argument in launch.arguments:
        if isinstance(argument, np.ndarray):
            passed += [buffers[id(argument)], *map(np.int32, argument.shape)]
        else:
            passed.append(np.int32(argument) if isinstance(argument, int) else argument)
    kernel.set_args(*passed)
    grid, block = extents_of(launch.grid), extents_of(launch.block)
    threads = [groups * size for groups, size in zip(grid, block, strict=True)]
    return lambda: cl.enqueue_nd_range_kernel(queue, kernel, threads, block)


def extents_of(given: int | tuple[int, ...]) -> Sequence[int]:
    """The extents of a launch, x first."""
    return (given,) if isinstance(given, int) else given
