"""How the examples time a kernel: what the first launch adds, apart from what each launch takes."""

import statistics
import time
from collections.abc import Callable


def milliseconds(action: Callable[[], object]) -> float:
    """Run the action once and return how long it took."""
    begin = time.perf_counter()
    action()
    return (time.perf_counter() - begin) * 1e3


def report(name: str, launch: Callable[[], object], repeats: int = 7) -> None:
    """Launch a kernel for the first time, then again and again, and print both times.

    The first launch compiles the kernel, or takes it from the disk cache when an earlier run compiled it.
    """
    first = milliseconds(launch)
    later = statistics.median(milliseconds(launch) for _ in range(repeats))
    print(f"{name}: kernel {later:.1f} ms, compiling or reloading it {max(0.0, first - later):.1f} ms")
