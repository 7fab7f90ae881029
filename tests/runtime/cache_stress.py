"""Many processes with one cache directory, some of them killed: no wrong code, no lost run.

Each process runs a kernel, a parallel loop and an elementwise function of one of several programs. The programs differ
in little, of which nothing shows in their byte code: a class attribute, a member of an enum, a default, the layout of a
structure. The cache is so small that entries go all the time, some are damaged between runs, and one process in seven
is killed at any time. From the command line: ``PYTHONPATH=tests python -m runtime.cache_stress --processes 1000``.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from weft.runtime.cache import ObjectCache

PROGRAM = """
import enum, sys
import numpy as np
import weft
from weft import cuda, prange

class Cfg:
    N = {attribute}

class Color(enum.Enum):
    RED = {member}

# Eight programs with it outgrow the cache.
TABLE = np.arange(17_000)

def default(a, *, k={keyword}):
    return a + k

@cuda.jit
def kernel(records, x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = records[i].b * 1000 + records[i].a + TABLE[i] * Cfg.N

@weft.jit
def total(records):
    s = 0
    for i in prange(records.size):
        s += records[i].a * Color.RED.value + TABLE[records[i].b]
    return s

@weft.vectorize
def shifted(a):
    return default(a) * Cfg.N

records = np.zeros(40, np.dtype([("a", "i1"), ("b", "i4")], align={aligned}))
records["a"], records["b"] = np.arange(40) % 7, np.arange(40)
a, b = records["a"].astype(np.int64), records["b"].astype(np.int64)
x = np.zeros(40)
kernel[2, 32](records, x)
assert (x == b * 1000 + a + TABLE[:40] * Cfg.N).all(), x
assert total(records) == (a * Color.RED.value + b).sum(), total(records)
assert (shifted(b) == (b + {keyword}) * Cfg.N).all(), shifted(b)
print(*(code.from_cache for code in kernel.overloads.values()))
"""

VARIANTS = [
    {"attribute": attribute, "member": member, "keyword": keyword, "aligned": aligned}
    for attribute, member, keyword in [(3, 5, 7), (4, 5, 7), (3, 6, 7), (3, 5, 8)]
    for aligned in (False, True)
]
LIMIT_MIB = 1
KILLED, DAMAGED = 1 / 7, 1 / 20


@dataclass(slots=True)
class Figures:
    """What came of it: runs by their end, hits among the finished ones, what was wrong, and the files left."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    entries: int = 0
    size: int = 0
    under_way: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        ends = ", ".join(f"{number} {end}" for end, number in sorted(self.ends.items()))
        files = f"{self.entries} entries of {self.size:,} bytes, {self.under_way} files under way"
        return f"{ends}; {len(self.wrong)} wrong; {files}; {self.seconds:.0f} s"


@dataclass(slots=True)
class _Run:
    process: subprocess.Popen[str]
    kill_at: float


def stress(folder: Path, processes: int, at_once: int, seed: int) -> Figures:
    """Run so many processes, and look at what they leave."""
    chance = random.Random(seed)
    figures = Figures()
    cache = ObjectCache(folder / "cache")
    programs: list[Path] = []
    for number, variant in enumerate(VARIANTS):
        programs.append(folder / f"program_{number}.py")
        programs[-1].write_text(PROGRAM.format(**variant))
    environment = os.environ | {
        "WEFT_CACHE_DIR": str(cache.directory),
        "WEFT_CACHE_SIZE": str(LIMIT_MIB),
        "WEFT_CHECK": "0",
        "WEFT_NUM_THREADS": "2",
    }
    started, usual = time.monotonic(), 2.0
    running: list[_Run] = []
    left = processes
    while left or running:
        while left and len(running) < at_once:
            left -= 1
            command = [sys.executable, "-W", "error", str(chance.choice(programs))]
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            killed = chance.random() < KILLED
            now = time.monotonic()
            running.append(_Run(process, now + chance.uniform(0.1, 1.1) * usual if killed else now + 600))
            if chance.random() < DAMAGED:
                _damage(cache.directory, chance)
        for run in list(running):
            if time.monotonic() > run.kill_at:
                run.process.kill()
            if run.process.poll() is not None:
                running.remove(run)
                _note(run, figures)
        time.sleep(0.01)
        done = processes - left
        usual = max(0.3, (time.monotonic() - started) / done * min(at_once, done))
    figures.seconds = time.monotonic() - started
    _look_at(cache, figures)
    return figures


def _note(run: _Run, figures: Figures) -> None:
    output, complaint = run.process.communicate()
    code = run.process.returncode
    if code == -9 and time.monotonic() > run.kill_at:
        figures.ends["killed"] += 1
    elif code == 0:
        figures.ends["found in the cache" if output.strip() == "True" else "compiled"] += 1
    else:
        figures.ends["failed"] += 1
        figures.wrong.append(f"exit {code}: {complaint[-1000:]}")


def _damage(directory: Path, chance: random.Random) -> None:
    """Cut an entry short, or change a byte of it."""
    files = sorted(directory.glob("??/*.weft"))
    if not files:
        return
    try:
        file = chance.choice(files)
        data = bytearray(file.read_bytes())
        position = chance.randrange(len(data))
        data[position] ^= 1
        file.write_bytes(data[:position] if chance.random() < 0.5 else data)
    except OSError:
        return


def _look_at(cache: ObjectCache, figures: Figures) -> None:
    """Count what is left, under the limit but for what processes store at the same time."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.entries, figures.size = cache.size()
    figures.under_way = len(list(cache.directory.glob("??/weft-*")))
    if figures.size > LIMIT_MIB << 21:
        figures.wrong.append(f"the cache holds {figures.size:,} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = stress(Path(folder), options.processes, options.at_once, options.seed)
    print(figures)
    print(*figures.wrong[:5], sep="\n")
    return bool(figures.wrong)


if __name__ == "__main__":
    sys.exit(main())
