"""What loops hold in registers, and what inverse roots take, to the model of widths."""

import pytest

from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.shapes import domain_named
from weft.costs.lane_groups import WidthModel
from weft.costs.regions import RegionCosts
from weft.ir import Function
from weft.ir.reader import read_module
from weft.machine.targets import AVX2

#   A ──▶ L ◀─┐     each thread adds up what it is apart from others, and looks up where it is itself again and again
#         │ ─ ┘
#         ▼
#         D
PULLS = """
declare float @llvm.sqrt.f32(float) nounwind willreturn memory(none)
define void @k(ptr %x, ptr %out, i64 %tid.x, i64 %n) "weft.kernel" {{
A:
  br label %L
L:
  %j = phi i64 [ 0, %A ], [ %k, %L ]
  %sum = phi float [ 0.0, %A ], [ %more, %L ]
  %other = getelementptr float, ptr %x, i64 %j
  %there = load float, ptr %other
  %own = getelementptr float, ptr %x, i64 %tid.x
  %here = load float, ptr %own
  {store}
  %apart = fsub fast float %there, %here
  %squared = fmul fast float %apart, %apart
  %root = call {flags} float @llvm.sqrt.f32(float %squared)
  %inverse = fdiv {flags} float 1.0, %root
  %more = fadd fast float %sum, %inverse
  %k = add nsw i64 %j, 1
  %again = icmp slt i64 %k, %n
  br i1 %again, label %L, label %D
D:
  %at = getelementptr float, ptr %out, i64 %tid.x
  store float %more, ptr %at
  ret void
}}
"""
STORE = "store float %sum, ptr %out"


def analysed(flags: str = "fast", store: str = "") -> Divergence:
    kernel = read_module(PULLS.format(flags=flags, store=store)).functions["k"]
    domain = domain_named("product", (8,))
    return analyze_divergence(
        kernel, domain=domain, initial={kernel.args[2]: domain.strided(1, 64, 8)}, width=8
    )


def test_what_is_loaded_again_unchanged_is_held_in_registers() -> None:
    for store, held in (("", 2), (STORE, 1)):
        model = WidthModel(analysed(store=store), AVX2)
        (loop,) = model._loops.loops
        registers = model.registers
        divergent, left_behind = model._is_divergent(loop), model._bits_left_behind(loop)
        assert registers.spills(loop, 8, divergent, left_behind) == 0
        # So many registers a value at 128 lanes, of 16; some are for other things.
        lacking = 16 * held + model._constants.spare_registers - 16
        assert registers.spills(loop, 128, divergent, left_behind) == model._constants.spill * lacking


def root_cycles(kernel: Function, width: int) -> float:
    domain = domain_named("product", (8,))
    initial = {kernel.args[2]: domain.strided(1, 64, 8)}
    divergence = analyze_divergence(kernel, domain=domain, initial=initial, width=width)
    costs = RegionCosts.of(divergence, width, AVX2)
    block = next(b for b in kernel.blocks if b.name == "L")
    return sum(costs.cycles(i) for i in block.instructions if i.name in ("root", "inverse"))


@pytest.mark.parametrize(("width", "bits"), [(8, 32), (32, 32), (32, 64)])
def test_fast_inverse_roots_are_estimated(width: int, bits: int) -> None:
    def cycles(flags: str) -> float:
        text = PULLS.format(flags=flags, store="")
        if bits == 64:
            text = text.replace("float", "double").replace("sqrt.f32", "sqrt.f64")
        return root_cycles(read_module(text).functions["k"], width)

    assert (5 if bits == 32 else 2) * cycles("fast") < cycles("")


ESCAPES = """
define void @k(ptr %out, i64 %tid.x, double %c) "weft.kernel" {
A:
  %start = sitofp i64 %tid.x to double
  br label %H
H:
  %z = phi double [ %start, %A ], [ %next, %B ]
  %n = phi i32 [ 0, %A ], [ %more, %B ]
  %a = fmul double %z, %z
  %b = fmul double %a, %z
  %size = fadd double %a, %b
  %inside = fcmp olt double %size, 4.0
  br i1 %inside, label %B, label %D
B:
  %d = fadd double %a, %c
  %next = fsub double %d, %b
  %more = add i32 %n, 1
  br label %H
D:
  %at = getelementptr i32, ptr %out, i64 %tid.x
  store i32 %n, ptr %at
  ret void
}
"""
r"""
    A
    |
    H <-.     a and b are needed for the test, and behind it by those that stay
    | \  |
    D  B-'
"""


@pytest.mark.parametrize("divergent", [True, False])
def test_what_is_needed_behind_the_end_of_some_threads_is_held(divergent: bool) -> None:
    kernel = read_module(ESCAPES).functions["k"]
    domain = domain_named("product", (8,))
    initial = {kernel.args[1]: domain.strided(1, 64, 8)}
    model = WidthModel(analyze_divergence(kernel, domain=domain, initial=initial, width=8), AVX2)
    (loop,) = model._loops.loops
    # In 64 lanes z is 16 registers, and so are a and b; the mask is half as many. All lanes share n.
    held = (32 if divergent else 16) + 8 * divergent
    spills = model.registers.spills(loop, 64, divergent, 0)
    assert spills == model._constants.spill * (held + model._constants.spare_registers - 16)
