"""Random loop nests: transactions as they are predicted, against what the interpreter accesses.

``python -m mapping.random_costs FIRST LAST`` from the folder of tests. Of each access in a nest that may be mapped to a
grid, for each mapping, the lines of each warp whose lanes follow each other are compared.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from mapping.trace import Trace
from sequential.nests import HEAD, Nest, arguments
from weft import interp
from weft.analysis.mapping.lines import touched_lines
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.atoms import Symbol
from weft.analysis.symbolic.expression import as_expression
from weft.ir import Argument
from weft.loops.analysis import analyze_file
from weft.machine.transactions import LINE, units
from weft.report.loops.nests import LoopReport

ARRAYS = {"a": np.int32, "b": np.int32, "c": np.int16, "d": np.uint8}
BASE = 16 * LINE
BATCH = 20
CALLS = 3


class _Unknown(Exception):
    pass


def check(first: int, last: int, counts: dict[str, int]) -> list[str]:
    """Compare the nests of some seeds; what is wrong, with the source."""
    found: list[str] = []
    for start in range(first, last, BATCH):
        nests = {n.name: n.text() for n in map(Nest, range(start, min(start + BATCH, last)))}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "nests.c"
            file.write_text(HEAD + "\n".join(nests.values()))
            report = analyze_file(file, list(nests), ["-w", "-Dstatic=static __attribute__((noinline))"])
        for name, text in nests.items():
            loops = [r for r in report.loops if r.function == name and r.mapping is not None]
            wrong = [
                w
                for loop in loops
                for call in range(CALLS)
                for w in _compare(loop, int(name[4:]) * CALLS + call, counts)
            ]
            if wrong:
                found.append("\n".join([*dict.fromkeys(wrong), text]))
    return found


def _compare(loop: LoopReport, seed: int, counts: dict[str, int]) -> list[str]:
    numbers = arguments(seed)
    draw = np.random.default_rng(seed)
    trace, memory, bases = Trace(loop), interp.Memory(), {}
    values: list[int] = [*numbers.values()]
    for name, dtype in ARRAYS.items():
        bases[name] = (
            memory.map_array(draw.integers(0, 9, 4096 // np.dtype(dtype).itemsize).astype(dtype)) + BASE
        )
        values.append(bases[name])
    try:
        interp.run_function(
            loop.loop.scope.program.module,
            loop.function,
            values,
            1,
            memory=memory,
            hooks=[trace],
            step_limit=60_000,
        )
    except Exception as error:
        if "InterpError" in str(type(error).__mro__):
            return []
        raise
    assert loop.mapping is not None
    found: list[str] = []
    for cost in loop.mapping.found.mappings:
        for access, lane in cost.accesses.items():
            if lane.stride is None or access.base is None or access.base.name not in bases:
                continue
            if access.scope is not loop.loop.scope:
                continue
            for said, seen, is_exact in _warps(cost, access, lane, trace, bases, numbers):
                counts["exact" if is_exact else "bound"] = counts.get("exact" if is_exact else "bound", 0) + 1
                if said != seen if is_exact else said < seen:
                    found.append(f"line {access.line}: {access.offset}: {said} lines, {seen} were seen")
    return found


def _warps(
    cost: Any, access: Any, lane: Any, trace: Trace, bases: dict[str, int], numbers: dict[str, int]
) -> Any:
    x = cost.mapping.x.loop.header
    warps: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for here, address in trace.seen[access.instruction]:
        if x in here:
            rest = tuple(sorted((h, i) for h, i in here.items() if h != x))
            warps[rest, here[x] // 32].append((here[x], address))
    for (rest, _), members in warps.items():
        members.sort()
        first, lanes = members[0][0], len(members)
        if [i for i, _ in members] != list(range(first, first + lanes)):
            continue
        iterations = {**dict(rest), x: first}

        def value(symbol: Symbol, iterations: dict[int, int] = iterations) -> int:
            if isinstance(symbol.origin, LoopContext):
                return iterations[symbol.origin.loop.header]
            if isinstance(symbol.origin, Argument) and symbol.name in numbers:
                return numbers[symbol.name]
            raise _Unknown

        addresses = np.array([a - bases[access.base.name] + BASE for _, a in members], np.uint64)
        counted = touched_lines(
            access.offset, lane.stride, access.element, as_expression(lanes), LINE, access.facts
        )
        try:
            yield counted.count.evaluate(value), len(units(addresses, access.element, LINE)), counted.is_exact
        except _Unknown:
            continue


if __name__ == "__main__":
    seen: dict[str, int] = {}
    problems = check(int(sys.argv[1]), int(sys.argv[2]), seen)
    print(*problems, seen, sep="\n")
    sys.exit(1 if problems else 0)
