"""Compile generated programs of three sizes in processes of their own, and name those whose time grows too fast.

``python -m bench.compile_time [family ...] [--doors kernel auto] [--size 100] [--level x86-64-v3]``: the CPU time
of sizes n, 2n and 4n, clang's included, and the power of the size that it grows with.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import os
import re
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.compile_time.doors import DOORS
from bench.compile_time.families import FAMILIES, KERNELS, SMALL

LIMIT = 1.3
"""The power of the size that is too much."""
SLOW = 10.0
"""Seconds of CPU time that are too long."""
WORDS = 9
"""Functions that are named where a compilation has not come to its end."""


def measured(door: str, name: str, size: int, limit: float) -> float | str:
    """Seconds of CPU time of one compilation in a fork of this process; words where it has none."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            os.dup2(said.fileno(), 2)
            _compile(door, name, size, limit, sys.stderr.fileno())
        _, status = os.waitpid(child, 0)
        said.seek(0)
        text = said.read()
    if not status:
        return float(text.split()[-1])
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        frames = re.findall(r'src/weft/(\S+?)\.py", line \d+ in (\w+)', text)
        named = list(dict.fromkeys(f"{Path(file).name}.{function}" for file, function in frames))
        return f"> {limit:.0f} s: {' < '.join(named[:WORDS])}"
    return (text.strip().splitlines() or [f"status {status}"])[-1][:100]


def _compile(door: str, name: str, size: int, limit: float, out: int) -> None:
    """Compile in this process and end it; past its limit it is told where it is."""
    status = 1
    try:
        begin = _cpu()
        faulthandler.register(signal.SIGXCPU, all_threads=False, chain=True)
        resource.setrlimit(
            resource.RLIMIT_CPU, (math.ceil(time.process_time() + limit), resource.RLIM_INFINITY)
        )
        DOORS[door]({**FAMILIES, **KERNELS}[name], size)
        os.write(out, f"\n{_cpu() - begin}\n".encode())
        status = 0
    except BaseException as error:
        os.write(out, f"\n{type(error).__name__}: {error}".replace("\n", " ").encode())
    finally:
        os._exit(status)


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.compile_time", description=__doc__)
    parser.add_argument("families", nargs="*", help="names of families; all by default")
    parser.add_argument("--doors", nargs="*", choices=DOORS, default=[*DOORS])
    parser.add_argument("--size", type=int, default=100, help="statements of the smallest program")
    parser.add_argument("--level", help="instruction set, as WEFT_CPU has it")
    parser.add_argument("--limit", type=float, default=60.0, help="most seconds for a compilation")
    options = parser.parse_args()
    os.environ |= {"WEFT_CACHE": "0", "WEFT_NUM_THREADS": "1"}
    if options.level is not None:
        os.environ["WEFT_CPU"] = options.level
    families = {**FAMILIES, **KERNELS}
    for door in options.doors:
        # What is imported, or made once, is not measured.
        for first in (
            ("small_loops", "nested_ifs", "rounds")
            if door in ("barriers", "opencl")
            else ("small_loops", "nested_ifs")
        ):
            DOORS[door](families[first], 8)
    for name in options.families or families:
        for door in options.doors:
            if door == "barriers" if name not in KERNELS else door not in ("barriers", "opencl"):
                continue
            _row(name, door, options)


def _row(name: str, door: str, options: argparse.Namespace) -> None:
    first = max(4, options.size // SMALL.get(name, 1))
    found: list[float] = []
    words = ""
    for size in (first, 2 * first, 4 * first):
        seconds = measured(door, name, size, options.limit)
        if isinstance(seconds, str):
            words = f" {size}: {seconds}"
            break
        found.append(seconds)
    power = math.log2(max(found[-1], 1e-3) / max(found[-2], 1e-3)) if len(found) > 1 else math.nan
    mark = " <" if words or power > LIMIT or found[-1] > SLOW else ""
    times = " ".join(f"{s:8.2f}" for s in found)
    print(f"{name:18} {door:9} {first:5} {times}  {power:5.2f}{mark}{words}", flush=True)


if __name__ == "__main__":
    main()
