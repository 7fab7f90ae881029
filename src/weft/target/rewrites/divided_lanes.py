"""Vectors of 64-bit integers divided as doubles, in LLVM's text: where all numbers have 31 bits, or all have 50.

A quotient that is no integer is 1/divisor or more from the next one, and as a double moves by 2^-53 of itself at most.
That is less, as no dividend has 53 bits.

By what all lanes share they are multiplied: by its inverse, of which there is one, and which LLVM computes in front of
the loop around (`weft.codegen.widen.division` says why that is exact below 2^50).

Precondition: nothing is divided by zero, whatever lanes hold. Postcondition: the text of functions that give what
LLVM's divisions give.
"""

from __future__ import annotations

from weft.machine.targets import Isa
from weft.target.rewrites.lane_text import NAME, Lines

SHARED = ".shared"
"""In names of functions whose divisor is a scalar."""

_ABOVE_ONE = "0x3FF0000000000002"
"""1 + 2^-51."""


def division(w: Lines, op: str) -> str:
    """Return the function for vectors whose numbers have 31 bits, as a rule."""
    whole, short, wide, name = w.type("i64"), w.type("i32"), w.type("double"), f"{NAME}{op}.v{w.lanes}i64"
    # Signed ones are between -2^30 and 2^30, so that no quotient is 2^31.
    moved = f"splat (i64 {1 << 30 if op[0] == 's' else 0})"
    rest = f"""\
  %multiple = mul {short} %quotient, %y.short
  %rest = sub {short} %x.short, %multiple"""
    result = "%quotient" if op.endswith("div") else "%rest"
    return f"""\
define internal {whole} @{name}({whole} %x, {whole} %y) alwaysinline nounwind {{
entry:
  %x.moved = add {whole} %x, {moved}
  %y.moved = add {whole} %y, {moved}
  %either = or {whole} %x.moved, %y.moved
  %high = lshr {whole} %either, splat (i64 31)
  %fine = icmp eq {whole} %high, zeroinitializer
{w.all("%fine")}
  br i1 %all, label %ordinary, label %odd, !prof !{{!"branch_weights", i32 2000, i32 1}}
ordinary:
  %x.short = trunc {whole} %x to {short}
  %y.short = trunc {whole} %y to {short}
  %x.float = sitofp {short} %x.short to {wide}
  %y.float = sitofp {short} %y.short to {wide}
  %ratio = fdiv {wide} %x.float, %y.float
  %quotient = fptosi {wide} %ratio to {short}
{rest if op.endswith("rem") else ""}
  %extended = sext {short} {result} to {whole}
  br label %end
odd:
  %taken.apart = call {whole} @{name}.odd({whole} %x, {whole} %y)
  br label %end
end:
  %result = phi {whole} [ %extended, %ordinary ], [ %taken.apart, %odd ]
  ret {whole} %result
}}
"""


def shared_division(w: Lines, op: str) -> str:
    """The same by a number that all lanes share, and that is not vector but scalar."""
    whole, short, wide, name = (
        w.type("i64"),
        w.type("i32"),
        w.type("double"),
        f"{NAME}{op}{SHARED}.v{w.lanes}i64",
    )
    moved = 1 << 30 if op[0] == "s" else 0
    rest = f"""\
  %multiple = mul {short} %quotient, %y.short
  %rest = sub {short} %x.short, %multiple"""
    result = "%quotient" if op.endswith("div") else "%rest"

    def splat(made: str, type: str, value: str) -> str:
        vector = w.type(type)
        return f"""\
  {made}.one = insertelement {vector} poison, {type} {value}, i64 0
  {made} = shufflevector {vector} {made}.one, {vector} poison, {w.type("i32")} zeroinitializer"""

    # Where y has more bits, only a number moved to 0 is ordinary: 0 itself, or -2^30, whose quotient is right, too.
    return f"""\
define internal {whole} @{name}({whole} %x, i64 %y) alwaysinline nounwind {{
entry:
  %y.moved = add i64 %y, {moved}
  %y.fine = icmp ult i64 %y.moved, {1 << 31}
  %high.bits = select i1 %y.fine, i64 {-1 << 31}, i64 -1
{splat("%high.all", "i64", "%high.bits")}
  %number = sitofp i64 %y to double
  %nearly = fdiv double 1.0, %number
  %inverse = fmul double %nearly, {_ABOVE_ONE}
{splat("%inverses", "double", "%inverse")}
  %x.moved = add {whole} %x, splat (i64 {moved})
  %high = and {whole} %x.moved, %high.all
  %fine = icmp eq {whole} %high, zeroinitializer
{w.all("%fine")}
  br i1 %all, label %ordinary, label %odd, !prof !{{!"branch_weights", i32 2000, i32 1}}
ordinary:
  %x.short = trunc {whole} %x to {short}
  %y.narrow = trunc i64 %y to i32
{splat("%y.short", "i32", "%y.narrow")}
  %x.float = sitofp {short} %x.short to {wide}
  %ratio = fmul {wide} %x.float, %inverses
  %quotient = fptosi {wide} %ratio to {short}
{rest if op.endswith("rem") else ""}
  %extended = sext {short} {result} to {whole}
  br label %end
odd:
{splat("%y.all", "i64", "%y")}
  %taken.apart = call {whole} @{name}.odd({whole} %x, {whole} %y.all)
  br label %end
end:
  %result = phi {whole} [ %extended, %ordinary ], [ %taken.apart, %odd ]
  ret {whole} %result
}}
"""


def odd_division(w: Lines, op: str, isa: Isa, shared: str = "") -> str:
    """The same where some number has more than 31 bits: as doubles, if these have as many bits as all numbers do."""
    whole, wide, name = w.type("i64"), w.type("double"), f"{NAME}{op}{shared}.v{w.lanes}i64"
    converts = "avx512dq" in isa.features
    if not converts and "sse4.1" not in isa.features:
        # Without an instruction that cuts doubles off they are no faster.
        return f"""\
define internal {whole} @{name}.odd({whole} %x, {whole} %y) noinline cold nounwind {{
  %number = {op} {whole} %x, %y
  ret {whole} %number
}}

"""
    bits = 52 if converts else 50
    moved = f"splat (i64 {1 << bits if op[0] == 's' else 0})"
    # A double of this size has the bits of an integer below those of its own.
    magic, same = f"splat (i64 {0x4338 << 48})", "splat (double 0x4338000000000000)"
    if converts:
        to_float = "".join(f"  %{v}.float = sitofp {whole} %{v} to {wide}\n" for v in "xy")
        to_int = f"  %quotient = fptosi {wide} %ratio to {whole}"
    else:
        to_float = "".join(
            f"""\
  %{v}.placed = add {whole} %{v}, {magic}
  %{v}.large = bitcast {whole} %{v}.placed to {wide}
  %{v}.float = fsub {wide} %{v}.large, {same}
"""
            for v in "xy"
        )
        trunc = f"llvm.trunc.v{w.lanes}f64"
        w.needed[trunc] = f"declare {wide} @{trunc}({wide})"
        to_int = f"""\
  %cut = call {wide} @{trunc}({wide} %ratio)
  %large = fadd {wide} %cut, {same}
  %placed = bitcast {wide} %large to {whole}
  %quotient = sub {whole} %placed, {magic}"""
    rest = f"""\
  %multiple = mul {whole} %quotient, %y
  %rest = sub {whole} %x, %multiple
"""
    return f"""\
define internal {whole} @{name}.odd({whole} %x, {whole} %y) noinline nounwind {{
entry:
  %x.moved = add {whole} %x, {moved}
  %y.moved = add {whole} %y, {moved}
  %either = or {whole} %x.moved, %y.moved
  %high = lshr {whole} %either, splat (i64 {bits + (op[0] == "s")})
  %fine = icmp eq {whole} %high, zeroinitializer
{w.all("%fine")}
  br i1 %all, label %doubles, label %apart, !prof !{{!"branch_weights", i32 2000, i32 1}}
doubles:
{to_float}  %ratio = fdiv {wide} %x.float, %y.float
{to_int}
{rest if op.endswith("rem") else ""}  ret {whole} {"%quotient" if op.endswith("div") else "%rest"}
apart:
  %number = {op} {whole} %x, %y
  ret {whole} %number
}}

"""
