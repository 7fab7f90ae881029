"""Short loops that LLVM writes out, and lane groups that are no wider than that (`unrolled_loops`)."""

import pytest

from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.shapes import domain_named
from weft.codegen.order.width import choose_width
from weft.costs.lane_groups import WidthModel
from weft.costs.unrolled_loops import loops_of_known_rounds
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.machine.targets import AVX2, AVX512, Isa

#  entry ──> rows <── next <─┐
#             │ └──> row <───┼─> step ──> row
#             └─> done
NEST = """
define void @k(ptr %out, i64 %n, i64 %tid.x) "weft.kernel" {
entry:
  br label %rows
rows:
  %r = phi i64 [ 0, %entry ], [ %below, %next ]
  %again = icmp slt i64 %r, ROWS
  br i1 %again, label %begin, label %done
begin:
  %first = mul i64 %r, 10
  br label %row
row:
  %c = phi i64 [ 0, %begin ], [ %behind, %step ]
  %more = icmp slt i64 %c, COLUMNS
  br i1 %more, label %step, label %next
step:
  %element = add i64 %first, %c
  %line = shl i64 %element, 10
  %row.at = getelementptr double, ptr %out, i64 %line
  %at = getelementptr double, ptr %row.at, i64 %tid.x
  %x = load double, ptr %at
  %half = fmul double %x, 5.0e-01
  %sum = fadd double %half, %x
  store double %sum, ptr %at
  %behind = add nuw nsw i64 %c, 1
  br label %row
next:
  %below = add nuw nsw i64 %r, 1
  br label %rows
done:
  ret void
}
"""


def nest(rows: str, columns: str) -> Divergence:
    text = NEST.replace("ROWS", rows).replace("COLUMNS", columns)
    kernel = read_module(text).functions["k"]
    domain = domain_named("product", (16,))
    return analyze_divergence(
        kernel, domain=domain, initial={kernel.args[2]: domain.strided(1, 64, 16)}, width=16
    )


@pytest.mark.parametrize(
    ("rows", "columns", "rounds"), [("5", "10", [10]), ("5", "%n", []), ("%n", "10", []), ("%n", "%n", [])]
)
def test_rounds_are_known_of_all_loops_around(rows: str, columns: str, rounds: list[int]) -> None:
    view = cfg_of(nest(rows, columns).function)
    assert list(loops_of_known_rounds(view, loop_forest(view.cfg)).values()) == rounds


@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
def test_what_is_written_out_counts_nothing(isa: Isa) -> None:
    known, unknown = WidthModel(nest("5", "10"), isa), WidthModel(nest("5", "%n"), isa)
    narrow, wide = isa.lanes(64), 8 * isa.lanes(64)
    assert known.cycles_of_thread(narrow) < 0.9 * unknown.cycles_of_thread(narrow)
    assert known.cycles_of_thread(wide) == unknown.cycles_of_thread(wide), "it is not written out"


@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
def test_lane_groups_are_narrow_where_loops_are_written_out(isa: Isa) -> None:
    assert choose_width(nest("5", "10"), isa).width < choose_width(nest("5", "%n"), isa).width
