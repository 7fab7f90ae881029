"""Floats that become integers and may turn out to fit 32 bits: where those of all lanes do, they have no more.

``int(x)`` has 64 bits in Python, and often nothing says how large x gets: ``min(int(x), n - 2)``. Below AVX-512 there
is no instruction for vectors of that, and numbers of 64 bits take twice the registers everywhere. So floats that are
converted outside of loops, one after the other, become integers of 32 bits first, and it is asked whether those of all
lanes are far enough from the ends. Where one is not, a copy of what follows goes on in 64 bits::

    head: ...; i = int64(x); ...               head:  ...; t = int32(x); br any(t < -b or t > b), wide, short
                                       ==>     wide:  i = int64(x); ...
                                               short: s = φ(t); i = sext(s); ...

Both are the nearest integers that there are, and 0 of NaN. What that leaves to narrowing
(`weft.transform.numbers.narrowing`) it finds by ranges alone: those of s follow from the branch.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the same, with one return. Preserves the
program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.divergence import Divergence
from weft.analysis.integers.converted_floats import is_conversion
from weft.analysis.integers.intervals import Interval
from weft.diag.source import SourceSpan
from weft.graph.cfg import reverse_postorder
from weft.graph.dominators import dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase, split_block
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import is_convergent
from weft.ir.intrinsics import PURE
from weft.ir.locations import span_of
from weft.ir.types import F32, F64, I32, I64, FloatType, FunctionType
from weft.transform.loops.guess_ranges import leave_guess, some_outside
from weft.transform.numbers.computed_early import compute_early
from weft.transform.numbers.front_versions import straight_blocks
from weft.transform.unify_returns import unify_returns

LARGEST_COPY = 400
"""Functions of more instructions are not copied."""

BITS = 30
"""Of what is guessed: sums of two, and with small numbers, fit 32 bits, too."""


def guess_conversions(function: Function, divergence: Divergence) -> list[SourceSpan | None]:
    """Give a function a copy for floats that do not fit 32 bits as integers; where these become integers."""
    view = cfg_of(function)
    innermost = loop_forest(view.cfg).innermost
    outside = [view.blocks[n] for n in reverse_postorder(view.cfg.succs) if innermost[n] is None]
    begin = next((b for b in outside if any(_is_better_short(i, divergence) for i in b.instructions)), None)
    if begin is None or sum(1 for _ in function.instructions()) > LARGEST_COPY:
        return []
    if any(is_convergent(i) for i in function.instructions()):
        return []
    order = [i for b in straight_blocks(function, begin) for i in b.instructions if not i.is_terminator]
    asked = _early(order, [i for i in order if _is_better_short(i, divergence)])
    places = [span_of(i) for i in asked]
    _copy(function, asked)
    return places


def _is_better_short(conversion: Instruction, divergence: Divergence) -> bool:
    """Whether lanes have numbers of their own, of which nothing is known, and compute with them."""
    ranges = divergence.engine.ranges
    if conversion.type != I64 or not is_conversion(conversion) or ranges is None:
        return False
    if divergence.shape(conversion).is_strided or conversion.operands[0].type not in (F32, F64):
        return False
    known = ranges.of(conversion)
    if known is not None and known.lo >= -(1 << 31) and known.hi < 1 << 31:
        return False
    users = list(conversion.instruction_users())
    return any(u.op not in ("store", "ret", "trunc", "sitofp") for u in users)


def _early(order: Sequence[Instruction], wide: Sequence[Instruction]) -> list[Instruction]:
    """The conversions whose floats are there at the first one, or can be; these are computed before it."""
    there = compute_early(order, [conversion.operands[0] for conversion in wide], wide[0], wide)
    return [conversion for conversion in wide if conversion.operands[0] in there]


def _copy(function: Function, asked: Sequence[Instruction]) -> None:
    first = asked[0]
    head = first.block
    assert head is not None and function.module is not None
    rest = split_block(first, "wide")
    view = cfg_of(function)
    dominators, number = dominator_tree(view.cfg), view.index[rest]
    copied = [block for n, block in enumerate(view.blocks) if dominators.dominates(number, n)]
    head.terminator.erase()
    builder = Builder(head)
    builder.loc = first.loc
    numbers: dict[Value, Instruction] = {}
    for conversion in asked:
        number = conversion.operands[0]
        if number not in numbers:
            assert isinstance(number.type, FloatType)
            name = f"llvm.fptosi.sat.i32.f{number.type.bits}"
            callee = function.module.declare(name, FunctionType(I32, (number.type,)), PURE)
            numbers[number] = builder.call(callee, (number,))
    most = 1 << BITS
    outside = some_outside(builder, dict.fromkeys(numbers.values(), Interval(-most, most)), set())
    values: ValueMap = {}
    clone_blocks(copied, function, values)
    _meet(copied, values)
    short = values[rest]
    assert isinstance(short, BasicBlock)
    short.name = "short"
    leave_guess(builder, outside, rest, short)
    for conversion in asked:
        copy = values[conversion]
        assert isinstance(copy, Instruction)
        phi = Builder.after_phis(short).phi(I32, "small")
        phi.add_incoming(numbers[conversion.operands[0]], head)
        extended = Builder(before=copy).cast("sext", phi, I64)
        extended.loc = copy.loc
        for user in list(copy.instruction_users()):
            if user.op == "sitofp":
                user.set_operand(0, phi)
        replace_and_erase(copy, extended)
    unify_returns(function)


def _meet(copied: Sequence[BasicBlock], values: ValueMap) -> None:
    """Let what follows both versions have what either has computed."""
    for block in copied:
        leaving = values[block]
        assert isinstance(leaving, BasicBlock)
        for target in dict.fromkeys(block.successors):
            for phi in target.phis() if target not in copied else ():
                value = phi.incoming_value(block)
                phi.add_incoming(values.get(value, value), leaving)
