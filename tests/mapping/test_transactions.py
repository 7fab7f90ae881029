"""Predicted transactions are those that the interpreter sees, warp by warp, for every mapping."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from mapping.random_costs import check
from mapping.trace import Trace
from weft import interp
from weft.analysis.mapping.lines import touched_lines
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.atoms import Symbol
from weft.analysis.symbolic.expression import as_expression
from weft.ir import Argument
from weft.loops.analysis import analyze_file
from weft.machine.transactions import LINE, units
from weft.report.loops.nests import LoopNestReport, LoopReport

FILE = Path(__file__).parent / "programs.c"
BASE = 64 * LINE
"""Where arrays begin in what is mapped: a multiple of a line, with room for negative offsets."""


def run(report: LoopReport, n: int, m: int) -> tuple[Trace, dict[str, int]]:
    trace = Trace(report)
    memory = interp.Memory()
    passed: list[int] = []
    bases: dict[str, int] = {}
    for argument in report.loop.scope.function.args:
        if argument.name in ("n", "m"):
            passed.append({"n": n, "m": m}[argument.name])
            continue
        array = np.zeros(1 << 17, np.uint8)
        address = memory.map_array(array) + BASE
        bases[argument.name] = address
        passed.append(address)
    program = interp.Program(report.loop.scope.program.module)
    interp.run_function(
        program, report.function, passed, 1, memory=memory, hooks=[trace], step_limit=10_000_000
    )
    return trace, bases


@pytest.fixture(scope="module")
def report() -> LoopNestReport:
    return analyze_file(FILE, (), ["-w"])


@pytest.mark.parametrize(
    "function", ["add", "offsets", "bytes", "inner", "strided", "triangle", "doubles", "crossing"]
)
def test_requests_of_warps(report: LoopNestReport, function: str) -> None:
    loop = next(r for r in report.loops if r.function == function and r.depth == 1)
    assert loop.mapping is not None
    compared = 0
    for n, m in ((7, 37), (34, 5)):
        trace, bases = run(loop, n, m)
        for cost in loop.mapping.found.mappings:
            compared += _compare(loop, cost, trace, bases, {"n": n, "m": m})
    assert compared > 20


def _compare(
    loop: LoopReport, cost: Any, trace: Trace, bases: dict[str, int], numbers: dict[str, int]
) -> int:
    x = cost.mapping.x.loop.header
    compared = 0
    for access, lane in cost.accesses.items():
        base = bases[access.base.name]
        warps: dict[Any, list[tuple[int, int]]] = defaultdict(list)
        for here, address in trace.seen[access.instruction]:
            rest = tuple(sorted((h, i) for h, i in here.items() if h != x))
            warps[rest, here[x] // 32].append((here[x], address))
        assert lane.requested is not None and lane.stride is not None
        for (rest, _), members in warps.items():
            members.sort()
            first, lanes = members[0][0], len(members)
            # Lanes of a triangle begin later, and are consecutive all the same.
            assert [i for i, _ in members] == list(range(first, first + lanes))
            iterations = {**dict(rest), x: first}

            def value(symbol: Symbol, iterations: dict[int, int] = iterations) -> int:
                origin = symbol.origin
                if isinstance(origin, LoopContext):
                    return iterations[origin.loop.header]
                assert isinstance(origin, Argument)
                return numbers[origin.name]

            addresses = np.array([a - base + BASE for _, a in members], np.uint64)
            seen = len(units(addresses, access.element, LINE))
            whole = lane.requested
            if lanes < 32:
                whole = touched_lines(
                    access.offset, lane.stride, access.element, as_expression(lanes), LINE, access.facts
                )
            said = whole.count.evaluate(value)
            assert said == seen if whole.is_exact else said >= seen
            compared += whole.is_exact
            most = lane.transactions.evaluate(value)
            if lanes == 32 and not any(a.kind == "alignment" for a in lane.assumptions):
                assert seen <= most or lane.stride.constant is None
    return compared


def test_thesis_matrix_addition(report: LoopNestReport) -> None:
    loop = next(r for r in report.loops if r.function == "add" and r.depth == 1)
    assert loop.mapping is not None
    load_a, load_b, store = (a.cost.transactions for a in loop.accesses if a.cost is not None)
    assert load_a == {"x=j, y=i": "1", "x=i, y=j": "min(32, m)"}
    assert load_b == {"x=j, y=i": "min(32, n)", "x=i, y=j": "1"}
    assert store == load_a
    assert loop.mapping.best == "x=j, y=i"
    assert ("alignment", 0, "4*m is a multiple of 128") in loop.mapping.assumptions


def test_random_nests() -> None:
    """More of them: ``python -m mapping.random_costs FIRST LAST``."""
    counts: dict[str, int] = {}
    assert check(0, 12, counts) == []
    assert counts["exact"] > 20
