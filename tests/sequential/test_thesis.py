"""The examples of Juravle's thesis, with what it prints wrong put right."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import Scope
from weft.analysis.symbolic.equations import solve
from weft.analysis.symbolic.expression import as_expression
from weft.ir import Instruction
from weft.loops.analysis import analyze_file
from weft.report.loops.nests import LoopNestReport, LoopReport

FILE = Path(__file__).parent / "thesis.c"


@pytest.fixture(scope="module")
def report() -> LoopNestReport:
    return analyze_file(FILE)


def outermost(report: LoopNestReport, function: str) -> LoopReport:
    return next(r for r in report.loops if r.function == function and r.depth == 1)


def sections(loop: LoopReport) -> dict[str, tuple[str | None, str | None]]:
    found = {f"in {s.name}": s.section for s in loop.inputs if s.section is not None}
    return found | {f"out {s.name}": s.section for s in loop.outputs if s.section is not None}


@pytest.mark.parametrize(
    ("function", "verdict", "wanted"),
    [
        # The thesis has [0, 4*N*N - 4], without the last element's bytes.
        ("add", "parallel", {
            "in a": ("0", "4*N*N"), "in b": ("0", "4*N*N"), "in c": ("0", "8"), "out c->data": ("0", "4*N*N"),
        }),
        ("casts", "parallel", {"in in": ("0", "15"), "out out": ("0", "60")}),
        ("nested", "parallel", {"in pp": ("24", "32"), "in pp[3]": ("0", "4*n"), "out q": ("0", "4*n")}),
        ("symmetric", "parallel", {"out a": ("0", "8*n + 4")}),
        ("induction", "parallel", {
            "in a": ("40", "4*n + 40"), "in b": ("0", "4*n"), "out c": ("0", "4*n"),
        }),
        # §6.2: the thesis cannot say what is read.
        ("border", "parallel", {
            "in in": ("4*min(size - slice, slice)", "4*slice + 8*size - 4"), "out out": ("0", "4*size"),
        }),
        ("contexts", "parallel", {
            "in a": ("16", "8*n + 12"), "in b": ("16", "8*n*n - 8*n + 20"), "in c": ("16", "92"),
            "out sum": ("0", "4*n"),
        }),
    ],
)  # fmt: skip
def test_parameters(
    report: LoopNestReport, function: str, verdict: str, wanted: dict[str, tuple[str, str]]
) -> None:
    loop = outermost(report, function)
    assert loop.verdict.value == verdict
    assert sections(loop) == wanted


def test_table_9_1(report: LoopNestReport) -> None:
    loop = outermost(report, "convolution")
    assert loop.verdict.value == "parallel"
    found = sections(loop)
    # The thesis has f_h·f_h, and the border of the filter around the image, which the tests exclude.
    assert found["in filter->pixmap"] == ("0", "4*filter->height*filter->width")
    assert found["in image->pixmap"] == ("0", "3*image->height*image->width")
    assert found["out out_image->pixmap"] == ("0", "3*image->height*image->width")
    assert loop.iterations == "max(0, image->height)"


def test_table_9_1_costs(report: LoopNestReport) -> None:
    """The coalescing report, and the shared memory: areas of pixels with their padding, in bytes."""
    loop = outermost(report, "convolution")
    mapping = loop.mapping
    assert mapping is not None and set(mapping.names) == {"x=x, y=y", "x=y, y=x"}
    # "Reverse loops order": x of the image has to be x of the grid.
    assert mapping.best == "x=x, y=y"
    costs = {(a.kind, a.array, a.line): a.cost.transactions for a in loop.accesses if a.cost is not None}
    bytes = [t for (_, array, _), t in costs.items() if array in ("image->pixmap", "out_image->pixmap")]
    assert len(bytes) == 6
    for place, transactions in enumerate(bytes):
        # The thesis has 3/4·i_w, without the limit of 32; and 1 for 96 bytes that often cross a line.
        rest = "" if place % 3 == 0 else f" + {place % 3}"
        inner = "93*image->width" + rest
        shown = f"({inner})" if rest or "*" in inner else inner
        assert transactions["x=y, y=x"] == f"min(floor({shown} / 128) + 1, 32)"
        assert transactions["x=x, y=y"] == "2"
    (filter,) = (t for (_, array, _), t in costs.items() if array == "filter->pixmap")
    assert set(filter.values()) == {"1"}
    areas = {a.array: a for a in mapping.near}
    assert set(areas) == {"filter->pixmap", "image->pixmap"}
    shared = areas["filter->pixmap"]
    whole = "4*filter->height*filter->width"
    assert shared.bytes == whole and set(shared.overlaps.values()) == {whole}
    # Three loads are one area: f_w pixels and a block's more across, f_h rows and a block's more down.
    image = areas["image->pixmap"]
    assert len(image.lines) == 3
    assert image.pitch == "3*image->width"
    rows, columns = image.section
    assert rows == (
        "y - floor(filter->height / 2)",
        "By + filter->height + y - floor(filter->height / 2) - 1",
    )
    first = "x - 3*floor(filter->width / 2)"
    assert columns == (first, f"3*Bx + 3*filter->width + {first} - 3")
    # In pixels f_h·(f_w - 1) across and f_w·(f_h - 1) down.
    assert image.overlaps == {
        "x": "3*filter->height*filter->width - 3*filter->height",
        "y": "3*filter->height*filter->width - 3*filter->width",
    }


def test_strided_instantiation(report: LoopNestReport) -> None:
    """§6.1: 100 rounds, from which n is found, and the sections by it: with the stride, and the last element."""
    loop = outermost(report, "strided")
    trips = loop.found.trips
    assert trips is not None
    assert loop.iterations == "max(0, floor((n + 1) / 2))"
    (n,) = trips.symbols()
    rounds = next(a for a in trips.atoms()).values[1]  # type: ignore[union-attr]
    assert [s[n] for s in solve([rounds - 100], [n])] == [199, 200]
    for value in (199, 200):
        ends = (4 * value, 4 * value + 1588), (0, 1588), (0, 1588)
        both = (*loop.parameters.outputs, *loop.parameters.inputs)
        for section, (begin, end) in zip(both, ends, strict=True):
            assert section.low is not None and section.end is not None
            assert section.low.evaluate(lambda _, v=value: v) == begin
            assert section.end.evaluate(lambda _, v=value: v) == end


def values_of(report: LoopNestReport, function: str) -> tuple[Scope, Reconstruction, dict[str, Instruction]]:
    """The values that are assigned to variables."""
    loop = outermost(report, function)
    scope, named = loop.loop.scope, {}
    for instruction in scope.function.instructions():
        for record in instruction.records:
            if record.variable is not None:
                named.setdefault(record.variable.text("name"), instruction)
    return scope, loop.reconstruction, named


def test_figure_8_9(report: LoopNestReport) -> None:
    scope, made, named = values_of(report, "ranges")
    ranges = Accesses(made).ranges

    def range_of(name: str, at: Instruction) -> str:
        assert at.block is not None
        return str(ranges.range_of(scope, named[name], at.block))

    # The thesis has n² for k, one more than i reaches.
    assert range_of("k", named["k"]) == "[0, n*n - 2*n + 1]"
    assert range_of("mux", named["mux"]) == "[min(m, n), max(m, n)]"
    assert range_of("w", named["w"]) == "[min(m, n), n + max(m, n) - 1]"
    # out[0] is no invariant: the first iteration writes it. The thesis has j in [m·α, n²·α].
    assert range_of("j", named["j"]).startswith("[-")
    stores = [i for i in scope.function.instructions() if i.op == "store"]
    guarded = next(s for s in stores if getattr(s.stored_value, "value", None) == 1)
    counter = next(phi for phi in outermost(report, "ranges").loop.header.phis())
    assert guarded.block is not None
    assert str(ranges.range_of(scope, counter, guarded.block)) == "[0, min(m - 1, n - 1)]"


def test_figure_8_10(report: LoopNestReport) -> None:
    scope, made, named = values_of(report, "reconstruct")
    assert str(made.of(scope, named["row_idx"])) == "n*#i"
    assert str(made.of(scope, named["row"])) == "4*n*#i + img"
    alpha = made.of(scope, named["val"])
    assert str(alpha).startswith("img[")
    inner = next(r for r in report.loops if r.function == "reconstruct" and r.depth == 2)
    total = next(phi for phi in inner.loop.header.phis() if not made.counts(inner.loop, phi))
    before = as_expression(made.symbol(scope, total, True))
    assert before + alpha in made.possible(scope, total)
    assert as_expression(0) in made.possible(scope, total)


def test_signs(report: LoopNestReport) -> None:
    """§8.5: what comparisons say of the variables in them."""
    program = outermost(report, "add").loop.scope.program
    from weft.analysis.sequential.scope import Program

    module = program.module
    scope = Scope(Program(module), module.functions["signs"])
    made = Reconstruction(scope.program)
    ranges = Accesses(made).ranges
    stores = [i for i in scope.function.instructions() if i.op == "store"]
    first, second, third = stores
    b = made.of(scope, scope.function.args[0])
    for store in (first, second):
        assert store.block is not None
        assert made.facts(scope, store.block).sign(b) == {1}, "b is positive"
    # One arm is positive, the other 0 or less.
    assert third.block is not None
    assert made.facts(scope, third.block).sign(b) == {-1, 0, 1}
    chosen = ranges.range_of(scope, third.stored_value, third.block)
    assert chosen.high is not None


def test_calls_are_told_apart(report: LoopNestReport) -> None:
    """§8.7: the accesses of the third call do not depend on the loop, whatever the others pass."""
    loop = outermost(report, "contexts")
    offsets = {a.array: a.offset for a in loop.accesses}
    assert offsets["a"] == "8*i + 16"
    assert offsets["b"] == "8*n*i + 16"
    assert offsets["c"] == "8*k + 16"
