"""Loops in C and Python have the verdicts that stand on their lines."""

import re
from pathlib import Path

import numpy as np
import pytest

from weft.diag.errors import WeftError

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

import weft
from sequential import loops as python_loops
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.verdicts import Verdict, loop_verdict, verdict_if_independent
from weft.frontend.python.signatures import parse_signature
from weft.loops.analysis import analyze_file, analyze_python
from weft.report.loops.nests import LoopNestReport, LoopReport

FILE = Path(__file__).parent / "loops.c"
PYTHON = Path(__file__).parent / "loops.py"


def expected(file: Path) -> dict[int, str]:
    found = (
        (n, re.search(r"(?://|#): (\w+)", text))
        for n, text in enumerate(file.read_text().splitlines(), start=1)
    )
    return {n: match[1] for n, match in found if match is not None}


def differing(file: Path, loops: tuple[LoopReport, ...]) -> list[str]:
    by_line: dict[int, list[LoopReport]] = {}
    for loop in loops:
        by_line.setdefault(loop.line, []).append(loop)
    wrong = [f"line {n}: no loop" for n in expected(file) if n not in by_line]
    for line, verdict in expected(file).items():
        for loop in by_line.get(line, []):
            if loop.verdict.value != verdict:
                reasons = "; ".join(r.text for r in loop.reasons)
                wrong.append(f"{loop.function} line {line}: {loop.verdict.value}, not {verdict}: {reasons}")
    return wrong


@pytest.fixture(scope="module")
def report() -> LoopNestReport:
    pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")
    return analyze_file(FILE)


def test_loops_in_c(report: LoopNestReport) -> None:
    assert len(expected(FILE)) >= 100
    assert differing(FILE, report.loops) == []


def test_loops_in_python() -> None:
    loops = [
        loop
        for name, signature in python_loops.SIGNATURES.items()
        for types in [parse_signature(signature)]
        for loop in analyze_python(getattr(python_loops, name), types.args).loops
    ]
    assert len(expected(PYTHON)) >= 28
    assert differing(PYTHON, tuple(loops)) == []


def sections(
    report: LoopNestReport, function: str, line: int = 0
) -> dict[str, tuple[str | None, str | None]]:
    loop = next(r for r in report.loops if r.function == function and (r.line == line or not line))
    found = {f"in {s.name}": s.section for s in loop.inputs if s.section is not None}
    return found | {f"out {s.name}": s.section for s in loop.outputs if s.section is not None}


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        ("copy", {"in x": ("0", "8*n"), "out y": ("0", "8*n")}),
        ("transpose", {"in a": ("0", "4*n*n"), "out b": ("0", "4*n*n")}),
        ("second_counter", {"in b": ("0", "4*n"), "out a": ("12", "8*n + 8")}),
        ("odd_counter", {"out a": ("0", "4*n")}),
        ("compact", {"in a": ("0", "4*n"), "out out": ("0", "4*n")}),
        ("column_sums", {"out s": ("0", "8*m")}),
        ("points", {"in p": ("0", "16*n - 8"), "out p": ("0", "16*n - 4")}),
        ("one_iteration", {"in a": ("28", "32"), "out a": ("0", "4")}),
        ("calls", {"out a": ("0", "8*n - 4")}),
        ("grey", {"in rgb": ("0", "3*w*h"), "out out": ("0", "w*h")}),
        ("lookup", {"in a": ("0", "n"), "in table": ("0", "256"), "out b": ("0", "n")}),
    ],
)  # fmt: skip
def test_sections(report: LoopNestReport, function: str, wanted: dict[str, tuple[str, str]]) -> None:
    assert sections(report, function) == wanted


def test_each_failed_condition_has_its_line(report: LoopNestReport) -> None:
    found = {r.function: [(x.line, x.text) for x in r.reasons] for r in report.loops if r.depth == 1}
    lines = FILE.read_text().splitlines()

    def line(text: str) -> int:
        return next(n for n, source in enumerate(lines, start=1) if text in source)

    at = line("a[i] = a[i + 1] * 2")
    assert found["shifted_read"] == [(at, f"what line {at} reads of a is written here 1 iteration later")]
    assert found["unknown_call"] == [(line("= outside(i)"), "outside is called, of which nothing is known")]
    at = line("a[i - 1] * b[i] + 1")
    assert found["recurrence"] == [(at, f"what line {at} writes of a is read here 1 iteration later")]
    assert (line("if (a[i] < 0)"), "the loop may be left here") not in found["find"]
    assert any("before its last iteration" in text for _, text in found["until"])


def test_brief_verdicts_are_those_of_all_dependences(report: LoopNestReport) -> None:
    independent = 0
    for each in report.loops:
        loop = each.loop
        accesses = Accesses(Reconstruction(loop.scope.program))
        full, brief = loop_verdict(accesses, loop), verdict_if_independent(accesses, loop)
        carries = full.dependences is None or bool(full.dependences.found)
        assert brief == (None if full.verdict is Verdict.SEQUENTIAL or carries else full)
        independent += brief is not None
    assert 20 < independent < len(report.loops) - 20


def test_no_overlap_is_an_assumption(report: LoopNestReport) -> None:
    texts = {r.function: [a.text for a in r.assumptions] for r in report.loops if r.depth == 1}
    assert "x and y do not overlap" in texts["copy"]
    # restrict says it.
    assert texts["axpy"] == []


def test_analyze_takes_examples() -> None:
    def scale(x, y, a):
        for i in range(x.size):
            y[i] = a * x[i]

    report = weft.loops.analyze(scale, np.ones(3), np.ones(3, np.float32), 2.0)
    (loop,) = report.loops
    assert loop.verdict.value == "parallel"
    data = report.to_data()["loops"][0]
    assert data["out"] == [{"name": "y", "section": ["0", "4*x.shape[0]"]}]
    assert data["function"] == "scale" and data["depth"] == 1
    assert "parallel" in str(report)


def test_wrong_use_is_told() -> None:
    with pytest.raises(WeftError, match="takes 3 arguments, not 1"):
        weft.loops.analyze(python_loops.saxpy, np.ones(3))
    with pytest.raises(WeftError, match="is no Python function"):
        weft.loops.analyze(3)
