"""Products of floats that are added to another one with one rounding, where processors cannot do that, for all lanes.

On x86-64 before AVX2 LLVM makes a call of the C library for each lane. The product of two floats is exact in double,
and a sum there that is rounded again is what one rounding gives, unless it is half-way between two floats: sums of
numbers that are not have been rounded to the same side. What is half-way is seen in the last 29 bits of a double. Where
floats are subnormal other bits say so, and these are odd lanes, too; but 0, for which the sum in double is exact
(`weft.transform.numbers.fused_sums`).
"""

from __future__ import annotations

from weft.target.rewrites.lane_text import NAME, Lines

_ATTRIBUTES = "nounwind willreturn memory(none)"
_LEAST_NORMAL = "0x3810000000000000"
"""2^-126."""


def fused_sum(w: Lines) -> str:
    """Definitions of the function for such sums of vectors, and of the one for odd lanes."""
    v, wide, words, name = w.float, w.type("double"), w.type("i32"), f"{NAME}fma.{w.suffix}"
    halves = f"<{2 * w.lanes} x i32>"
    low = ", ".join(f"i32 {2 * k}" for k in range(w.lanes))
    return f"""\
define internal {v} @{name}.odd({v} %a, {v} %b, {v} %c) noinline cold {_ATTRIBUTES} {{
  %sum = {w.call("llvm.fma", "%a", "%b", "%c")}
  ret {v} %sum
}}

define internal {v} @{name}({v} %a, {v} %b, {v} %c) alwaysinline {_ATTRIBUTES} {{
entry:
  %a.wide = fpext {v} %a to {wide}
  %b.wide = fpext {v} %b to {wide}
  %c.wide = fpext {v} %c to {wide}
  %product = fmul {wide} %a.wide, %b.wide
  %exact = fadd {wide} %product, %c.wide
  %sum = fptrunc {wide} %exact to {v}
  %words = bitcast {wide} %exact to {halves}
  %low = shufflevector {halves} %words, {halves} poison, <{w.lanes} x i32> <{low}>
  %cut = and {words} %low, splat (i32 536870911)
  %between = icmp eq {words} %cut, splat (i32 268435456)
  %size = {w.call("llvm.fabs", "%sum")}
  %small = fcmp ole {v} %size, {w.constant(_LEAST_NORMAL)}
  %some = fcmp une {v} %sum, zeroinitializer
  %subnormal = and {w.type("i1")} %small, %some
  %doubtful = or {w.type("i1")} %between, %subnormal
  %fine = xor {w.type("i1")} %doubtful, splat (i1 true)
{w.all("%fine")}
  br i1 %all, label %end, label %odd, !prof !{{!"branch_weights", i32 2000, i32 1}}
odd:
  %library = call {v} @{name}.odd({v} %a, {v} %b, {v} %c)
  br label %end
end:
  %result = phi {v} [ %sum, %entry ], [ %library, %odd ]
  ret {v} %result
}}
"""
