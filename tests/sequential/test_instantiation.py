"""Parameters from numbers of iterations, put in their place (Juravle, ch. 6)."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.analysis.sequential.instantiation import parameters_by_rounds
from weft.analysis.symbolic.atoms import Symbol
from weft.analysis.symbolic.expression import as_expression, floor_division, maximum
from weft.diag.errors import WeftError
from weft.loops.analysis import analyze_file
from weft.report.loops.costs import LoopSettings

FILE = Path(__file__).parent / "thesis.c"


def line_with(text: str) -> int:
    return next(n for n, line in enumerate(FILE.read_text().splitlines(), 1) if text in line)


def test_strided_instantiation() -> None:
    """§6.1: 100 rounds. The thesis finds n = 200 only, and sections without the stride."""
    line = line_with("i += 4")
    report = analyze_file(FILE, ["strided"], (), LoopSettings(rounds={line: 100}))
    assert [(v.name, v.values) for v in report.instantiated] == [("n", (199, 200))]
    assert "n is 199 or 200" in str(report)
    for n in (199, 200):
        (loop,) = analyze_file(FILE, ["strided"], (), LoopSettings({"n": n})).loops
        assert loop.iterations == "100"
        assert [s.section for s in loop.inputs if s.section] == [("0", "1588")] * 2
        assert [s.section for s in loop.outputs] == [(str(4 * n), str(4 * n + 1588))]


def test_values_are_injected_where_they_are_unique() -> None:
    report = analyze_file(FILE, ["add"], (), LoopSettings(rounds={line_with("i < N"): 48}))
    assert [(v.name, v.values) for v in report.instantiated] == [("N", (48,))]
    outer = next(loop for loop in report.loops if loop.depth == 1)
    assert outer.outputs[0].section == ("0", str(4 * 48 * 48))
    assert outer.mapping is not None and outer.mapping.bytes == str(3 * 4 * 48 * 48 + 8)
    # 192 bytes are no multiple of 128: a row of 48 begins in the middle of a line.
    assert not any(kind == "alignment" and "N" in text for kind, _, text in outer.mapping.assumptions)


def test_loaded_parameters_have_values_too() -> None:
    settings = LoopSettings({"image->width": 64, "filter->width": 3})
    outer = next(x for x in analyze_file(FILE, ["convolution"], (), settings).loops if x.depth == 1)
    sections = {s.name: s.section for s in outer.inputs}
    assert sections["filter->pixmap"] == ("0", "12*filter->height")
    assert sections["image->pixmap"] == ("0", "192*image->height")


def test_systems_of_trip_counts() -> None:
    n, m = Symbol("n", 1), Symbol("m", 2)
    zero = as_expression(0)
    first = maximum([as_expression(n) * 2 + as_expression(m), zero])
    found = parameters_by_rounds([(first, 12), (maximum([as_expression(m) - 1, zero]), 3)])
    assert found == {n: (4,), m: (4,)}
    assert parameters_by_rounds([(floor_division(as_expression(n), 4), 5)]) == {n: (20, 21, 22, 23)}
    # A loop that has not run only says that its count is at most 0; contradictions have no solution.
    assert parameters_by_rounds([(first, 0)]) == {}
    assert parameters_by_rounds([(as_expression(n), 3), (as_expression(n), 4)]) == {}


def test_names_and_lines_that_there_are_not() -> None:
    with pytest.raises(WeftError, match="no loop has a parameter 'k'"):
        analyze_file(FILE, ["strided"], (), LoopSettings({"k": 3}))
    with pytest.raises(WeftError, match="no loop in line 1 "):
        analyze_file(FILE, ["strided"], (), LoopSettings(rounds={1: 3}))


def test_other_numbers_of_the_name_of_a_parameter(tmp_path) -> None:
    """What is written to a parameter has its name, and is not the number that is given."""
    parts = " + ".join(f"m / {1000003 * k}" for k in range(1, 20))
    loop = "for (long i = 0; i < n; i++) a[i] = 1;"
    file = tmp_path / "names.c"
    file.write_text(
        f"void computed(long n, long m, const long *restrict p, char *restrict a) {{ n = n & p[m]; {loop} }}\n"
        f"void loaded(long n, long m, const long *restrict p, char *restrict a) {{ n = p[{parts}]; {loop} }}\n"
        f"void passed(long n, long m, const long *restrict p, char *restrict a) {{ {loop} }}\n"
    )
    settings = LoopSettings({"n": 100})
    iterations = {
        name: analyze_file(file, [name], (), settings).loops[0].iterations
        for name in ("computed", "loaded", "passed")
    }
    assert iterations == {"computed": "max(0, n)", "loaded": "max(0, p[...])", "passed": "100"}
