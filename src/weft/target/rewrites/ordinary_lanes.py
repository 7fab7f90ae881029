"""What LLVM takes apart lane by lane is done for all lanes at once, where all of them have ordinary numbers.

The remainder of floats is a call of the C library for each lane, which takes 20 cycles and more. Where the quotient is
so small that the integer below it is known, the remainder is one sum, whose result is exact::

    n = integer below |x| / |y|                |x| - n * |y|, and |y| more where that is below 0

A quotient that has been rounded may be the next integer, never the one below: integers are floats, up to 2^23 or 2^52.
So the sum is between ``-|y|`` and ``|y|`` and a multiple of what the least bit of ``y`` counts for: it has no more bits
than a float.

Floats become integers of 64 bits by instructions for one of them, where there are no registers for masks; those that
fit in 32 bits are converted as such, and extended. No processor divides vectors of integers: those of 64 bits that have
31 are divided as doubles, whose quotient is as far from the next integer as one by the divisor, unless it is one, and
in a function apart those that have 50 (52 where there are instructions that convert them). Where there is a quotient,
the remainder is what is left. Sums of products that are rounded once are computed in double where the processor has
none (`weft.target.rewrites.fused_lanes`). Whether all lanes are ordinary is asked of each vector; where not, another
function does what LLVM does.

Precondition: plain LLVM IR, at the end of all passes on it. Postcondition: no remainder of floats of 32 bits, or where
there are fused sums of 64; without registers for masks no vector of 64-bit integers from floats; without fused sums
none of vectors of floats of 32 bits; and no vector of such integers divided by another one, but in functions that are
called where some lane is odd. Preserves what functions give.
"""

from __future__ import annotations

import re

from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.constants import Constant, is_zero
from weft.ir.types import F32, F64, I64, FloatType, FunctionType, IntType, Type, VectorType
from weft.machine.targets import Isa
from weft.target.rewrites.divided_lanes import SHARED, division, odd_division, shared_division
from weft.target.rewrites.fused_lanes import fused_sum
from weft.target.rewrites.lane_text import NAME, Lines
from weft.transform.numbers.fused_sums import has_no_fused_sums

_DECLARED = re.compile(
    r"^declare [^\n]*@weft\.ordinary\.(?P<op>fma|frem|sat|sint|uint|[su]div|[su]rem)(?P<shared>\.shared)?\."
    r"(?:v(?P<lanes>\d+))?[fi](?P<bits>32|64)\([^\n]*\n",
    re.MULTILINE,
)
_QUOTIENTS = {"srem": "sdiv", "urem": "udiv"}
_DIVISIONS = (*_QUOTIENTS, *_QUOTIENTS.values())
_SATURATING = "llvm.fptosi.sat."
_EXACT = {32: "0x4160000000000000", 64: "0x4330000000000000"}
"""2^23 and 2^52: all integers up to these are floats, and halves."""
_ENDS = "0x41E0000000000000"
"""2^31."""
_ATTRIBUTES = "nounwind willreturn memory(none)"


def mark_ordinary(function: Function, isa: Isa) -> int:
    """Replace such operations by calls of functions that `with_ordinary_lanes` defines; how many."""
    found = sum(map(_take_quotients, function.blocks))
    for block in function.blocks:
        for i in list(block.instructions):
            op = _operation(i, isa)
            if op is None:
                continue
            operands = list(i.args if i.op == "call" else i.operands)
            assert function.module is not None
            name = f"{NAME}{op}.{_suffix(operands[0].type)}"
            if _divides(i) and (divisor := _shared(operands[1])) is not None:
                name = f"{NAME}{op}{SHARED}.{_suffix(operands[0].type)}"
                operands[1] = divisor
            type = FunctionType(i.type, tuple(o.type for o in operands))
            built = Builder(before=i).call(function.module.declare(name, type), operands)
            built.loc = i.loc
            i.replace_all_uses(built)
            i.erase()
            found += 1
    return found


def _take_quotients(block: BasicBlock) -> int:
    """Make remainders of quotients, where a block computes both; how many."""
    divisions = [i for i in block.instructions if _divides(i)]
    found = 0
    for rest in [i for i in divisions if i.op in _QUOTIENTS]:
        op, (x, y) = _QUOTIENTS[rest.op], rest.operands
        quotient = next((i for i in divisions if i.op == op and i.operands == rest.operands), None)
        if quotient is None:
            continue
        # The remainder may be another one than 0.
        quotient.flags = ()
        if block.instructions.index(quotient) > block.instructions.index(rest):
            quotient.detach()
            block.insert_before(rest, quotient)
        builder = Builder(before=rest)
        builder.loc = rest.loc
        replace_and_erase(rest, builder.binary("sub", x, builder.binary("mul", quotient, y)))
        found += 1
    return found


def _divides(i: Instruction) -> bool:
    """Whether vectors of 64-bit integers are divided; by constants LLVM multiplies."""
    if i.op not in _DIVISIONS or not isinstance(i.type, VectorType) or i.type.element != I64:
        return False
    return not isinstance(i.operands[1], Constant)


def _shared(vector: Value) -> Value | None:
    """The scalar that a vector has in all lanes, where it is made of one."""
    if not isinstance(vector, Instruction) or vector.op != "shufflevector":
        return None
    single = vector.operands[0]
    if not isinstance(single, Instruction) or single.op != "insertelement" or any(vector.attrs["mask"]):
        return None
    return single.operands[1] if is_zero(single.operands[2]) else None


def _operation(i: Instruction, isa: Isa) -> str | None:
    """What is computed, as functions are named."""
    if i.op == "frem":
        number = _element(i.type)
        return "frem" if number == F32 or (number == F64 and "fma" in isa.features) else None
    if _divides(i):
        return i.op
    if i.op == "call" and (i.callee_name or "").startswith("llvm.fma.v"):
        return "fma" if _element(i.type) == F32 and has_no_fused_sums(isa) else None
    if isa.mask_registers or not isinstance(i.type, VectorType) or i.type.element != I64:
        return None
    number = i.args[0] if i.op == "call" else i.operands[0]
    if _element(number.type) not in (F32, F64):
        return None
    if i.op == "call":
        return "sat" if (i.callee_name or "").startswith(_SATURATING) else None
    return {"fptosi": "sint", "fptoui": "uint"}.get(i.op)


def _element(type: Type) -> Type:
    return type.element if isinstance(type, VectorType) else type


def _suffix(type: Type) -> str:
    number = _element(type)
    assert isinstance(number, FloatType | IntType)
    name = f"{'f' if isinstance(number, FloatType) else 'i'}{number.bits}"
    return f"v{type.count}{name}" if isinstance(type, VectorType) else name


def with_ordinary_lanes(text: str, isa: Isa) -> str:
    """Return a module's text with definitions of the functions that `mark_ordinary` calls."""
    if NAME not in text:
        return text
    needed: dict[str, str] = {}

    def define(found: re.Match[str]) -> str:
        lines = Lines(int(found["bits"]), int(found["lanes"] or 0), needed)
        if found["op"] == "fma":
            return fused_sum(lines) + "\n"
        if found["op"] == "frem":
            return _remainder(lines, isa) + "\n"
        if found["op"] in _DIVISIONS:
            op, shared = found["op"], found["shared"] or ""
            divide = shared_division if shared else division
            return odd_division(lines, op, isa, shared) + divide(lines, op) + "\n"
        return _conversion(lines, found["op"]) + "\n"

    text = _DECLARED.sub(define, text)
    declared = set(re.findall(r"^(?:declare|define)[^\n]*?@([\w.]+)\(", text, re.MULTILINE))
    return text + "".join(f"{line}\n" for name, line in needed.items() if name not in declared)


def _remainder(w: Lines, isa: Isa) -> str:
    v, name = w.float, f"{NAME}frem.{w.suffix}"
    number = w.type("i32")
    rest = f"""\
  %minus = fneg {v} %n
  %sum = {w.call("llvm.fma", "%minus", "%y.size", "%x.size")}"""
    if "fma" not in isa.features:
        # A product of two numbers of 24 bits is a double.
        wide = w.type("double")
        rest = f"""\
  %n.wide = fpext {v} %n to {wide}
  %x.wide = fpext {v} %x.size to {wide}
  %y.wide = fpext {v} %y.size to {wide}
  %product = fmul {wide} %n.wide, %y.wide
  %sum.wide = fsub {wide} %x.wide, %product
  %sum = fptrunc {wide} %sum.wide to {v}"""
    below = (
        f"""\
  %n.integer = fptosi {v} %quotient to {number}
  %n = sitofp {number} %n.integer to {v}"""
        if w.bits == 32
        else f"  %n = {w.call('llvm.trunc', '%quotient')}"
    )
    infinite = w.constant("0x7FF0000000000000")
    return f"""\
define internal {v} @{name}.odd({v} %x, {v} %y) noinline cold {_ATTRIBUTES} {{
  %rest = frem {v} %x, %y
  ret {v} %rest
}}

define internal {v} @{name}({v} %x, {v} %y) alwaysinline {_ATTRIBUTES} {{
entry:
  %x.size = {w.call("llvm.fabs", "%x")}
  %y.size = {w.call("llvm.fabs", "%y")}
  %quotient = fdiv {v} %x.size, %y.size
  %near = fcmp olt {v} %quotient, {w.constant(_EXACT[w.bits])}
  %finite = fcmp olt {v} %y.size, {infinite}
  %fine = and {w.type("i1")} %near, %finite
{w.all("%fine")}
  br i1 %all, label %ordinary, label %odd, !prof !{{!"branch_weights", i32 2000, i32 1}}
ordinary:
{below}
{rest}
  %below = fcmp olt {v} %sum, {"zeroinitializer" if w.lanes else "0.0"}
  %more = fadd {v} %sum, %y.size
  %size = select {w.type("i1")} %below, {v} %more, {v} %sum
  %signed = {w.call("llvm.copysign", "%size", "%x")}
  br label %end
odd:
  %library = call {v} @{name}.odd({v} %x, {v} %y)
  br label %end
end:
  %result = phi {v} [ %signed, %ordinary ], [ %library, %odd ]
  ret {v} %result
}}
"""


def _conversion(w: Lines, op: str) -> str:
    v, integers, short, name = w.float, w.type("i64"), w.type("i32"), f"{NAME}{op}.{w.suffix}"
    whole = f"llvm.fptosi.sat.v{w.lanes}i64.v{w.lanes}f{w.bits}"
    convert = f"{'fptoui' if op == 'uint' else 'fptosi'} {v} %x to {integers}"
    if op == "sat":
        w.needed[whole] = f"declare {integers} @{whole}({v})"
        convert = f"call {integers} @{whole}({v} %x)"
    # Behind -1 a number without a sign is 0.
    least = w.constant("-1.0" if op == "uint" else "0xC1E0000000000000")
    return f"""\
define internal {integers} @{name}.odd({v} %x) noinline cold {_ATTRIBUTES} {{
  %number = {convert}
  ret {integers} %number
}}

define internal {integers} @{name}({v} %x) alwaysinline {_ATTRIBUTES} {{
entry:
  %above = fcmp o{"gt" if op == "uint" else "ge"} {v} %x, {least}
  %below = fcmp olt {v} %x, {w.constant(_ENDS)}
  %fine = and {w.type("i1")} %above, %below
{w.all("%fine")}
  br i1 %all, label %ordinary, label %odd, !prof !{{!"branch_weights", i32 2000, i32 1}}
ordinary:
  %short = fptosi {v} %x to {short}
  %extended = sext {short} %short to {integers}
  br label %end
odd:
  %whole = call {integers} @{name}.odd({v} %x)
  br label %end
end:
  %result = phi {integers} [ %extended, %ordinary ], [ %whole, %odd ]
  ret {integers} %result
}}
"""
