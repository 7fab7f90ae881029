"""Random loop nests against the interpreter: ``python -m sequential.random_nests FIRST LAST`` from the folder of tests.

No loop that is said to be parallel has iterations that meet in memory, no section is smaller than what a loop touches,
and no number of iterations is wrong.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sequential.nests import HEAD, Nest, arguments
from sequential.observer import known_expressions, observe, problems
from weft import interp
from weft.loops.analysis import analyze_file
from weft.report.loops.nests import LoopReport

BATCH = 20
CALLS = 3
ARRAYS = {"a": np.int32, "b": np.int32, "c": np.int16, "d": np.uint8}


def check(first: int, last: int, counts: dict[str, int]) -> list[str]:
    """Compare the nests of some seeds; what is wrong, with the source."""
    found: list[str] = []
    for start in range(first, last, BATCH):
        nests = [Nest(seed) for seed in range(start, min(start + BATCH, last))]
        texts = {nest.name: nest.text() for nest in nests}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "nests.c"
            file.write_text(HEAD + "\n".join(texts.values()))
            report = analyze_file(file, list(texts), ["-w", "-Dstatic=static __attribute__((noinline))"])
        by_function: dict[str, list[LoopReport]] = {}
        for loop in report.loops:
            by_function.setdefault(loop.function, []).append(loop)
        for name, loops in by_function.items():
            wrong = _compare(name, loops, counts)
            if wrong:
                found.append("\n".join([*dict.fromkeys(wrong), texts[name]]))
    return found


def _compare(name: str, loops: list[LoopReport], counts: dict[str, int]) -> list[str]:
    function = loops[0].loop.scope.function
    program = interp.Program(loops[0].loop.scope.program.module)
    counts["nests"] = counts.get("nests", 0) + 1
    found: list[str] = []
    for call in range(CALLS):
        seed = int(name[4:]) * CALLS + call
        numbers = arguments(seed)
        draw = np.random.default_rng(seed)
        values = [*numbers.values()]
        for dtype in ARRAYS.values():
            size = np.dtype(dtype).itemsize
            values.append((draw.integers(0, 9, 2048 // size * 2).astype(dtype), 2048))
        known = known_expressions(loops[0], loops[0].reconstruction, numbers)
        seen = observe(program, function, values, known, numbers)
        if seen is None:
            counts["undefined"] = counts.get("undefined", 0) + 1
            continue
        found += [f"{wrong} with {numbers}" for wrong in problems(loops, *seen, numbers, counts)]
    return found


def main() -> int:
    """Check a range of seeds; 1 if something is wrong."""
    first, last = int(sys.argv[1]), int(sys.argv[2])
    counts: dict[str, int] = {}
    wrong = 0
    begin = time.process_time()
    for start in range(first, last, BATCH):
        for text in check(start, min(start + BATCH, last), counts):
            wrong += 1
            print(text, flush=True)
    print(counts, f"{time.process_time() - begin:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main())
