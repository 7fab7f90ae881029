"""Extents of arrays that go together, as NumPy's broadcasting has it, and errors where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.diag.source import SourceSpan
from weft.frontend.python.lowering.arrays.heap import error_code
from weft.frontend.python.lowering.arrays.known_extents import Fact
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Checks:
    """What is to be found true at one place of the source: one branch for all of it.

    Kernels raise nothing: in these nothing is checked, and nothing learnt.
    """

    __slots__ = ("_facts", "_low", "_wrong")

    def __init__(self, low: Lowering) -> None:
        self._low = low
        self._wrong: Value | None = None
        self._facts: list[Fact] = []

    def fail_if(self, *wrong: Value) -> None:
        """Fail where all of these conditions hold."""
        binary = self._low.builder.binary
        together = reduce(lambda a, b: binary("and", a, b), wrong)
        self._wrong = together if self._wrong is None else binary("or", self._wrong, together)

    def learn(self, *facts: Fact) -> None:
        """Note what holds behind the check."""
        self._facts += facts

    def emit(self) -> None:
        """Fail here where something is wrong."""
        low = self._low
        if self._wrong is not None:
            low.frame.use(low)
            low.frame.fail_if(low, self._wrong, shape_error(low))
        low.known.learn(self._facts)


def broadcast(low: Lowering, shapes: Iterable[list[Value]]) -> list[Value]:
    """The extents of an operation on arrays of these: an extent of 1 goes with any other."""
    checks = Checks(low)
    one: list[Value] = []
    for other in shapes:
        if len(one) < len(other):
            one, other = other, one
        lead = len(one) - len(other)
        one = [*one[:lead], *(_common(low, checks, a, b) for a, b in zip(one[lead:], other, strict=True))]
    checks.emit()
    return one


def _common(low: Lowering, checks: Checks, a: Value, b: Value) -> Value:
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        if 1 not in (a.signed, b.signed) and a.signed != b.signed:
            raise TypingError(f"arrays of {a.signed} and {b.signed} elements do not go together")
        return b if a.signed == 1 else a
    known, builder, unit = low.known, low.builder, const_int(1)
    if known.fits(b, a):
        return a
    if known.fits(a, b):
        return b
    if low.stack[0].is_kernel:
        return builder.select(builder.icmp("eq", a, unit), b, a)
    if not known.fit_together(a, b):
        ends = [builder.icmp("ne", e, unit) for e in (a, b) if not isinstance(e, ConstInt)]
        checks.fail_if(builder.icmp("ne", a, b), *ends)
    return _joined(low, checks, a, b)


def _joined(low: Lowering, checks: Checks, a: Value, b: Value) -> Value:
    """The extent that two have together which fit."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ConstInt):
            checks.learn((other, one))
            return one
    found = low.known.joined(a, b) or low.known.joined(b, a)
    if found is None:
        found = low.builder.select(low.builder.icmp("eq", a, const_int(1)), b, a)
        low.known.keep_joined(a, b, found)
    checks.learn((a, found), (b, found))
    return found


def require_same(low: Lowering, ones: Sequence[Value], others: Sequence[Value]) -> None:
    """Fail where two extents differ; in kernels, which raise nothing, do nothing."""
    checks = Checks(low)
    for a, b in zip(ones, others, strict=True):
        if isinstance(a, ConstInt) and isinstance(b, ConstInt):
            if a.signed != b.signed:
                raise TypingError(f"arrays of {a.signed} and {b.signed} elements do not go together")
        elif not low.known.are_equal(a, b) and not low.stack[0].is_kernel:
            checks.fail_if(low.builder.icmp("ne", a, b))
            checks.learn((a, b), (b, a))
    checks.emit()


def shape_error(low: Lowering, message: str = "the shapes of the arrays do not go together") -> int:
    """The code of an error about shapes, at the place being lowered."""
    return error_code(low, "shape", message, _here(low))


def _here(low: Lowering) -> SourceSpan:
    place = low.builder.loc
    assert place is not None
    return SourceSpan(low.source.file, place.line, place.column)


def require_extents(low: Lowering, ours: Sequence[Value], wanted: Sequence[Value]) -> None:
    """Fail where an extent is neither that of the target nor 1; in kernels, which raise nothing, do nothing."""
    checks = Checks(low)
    for mine, its in zip(ours, wanted, strict=True):
        if low.known.fits(mine, its):
            continue
        if isinstance(mine, ConstInt) and isinstance(its, ConstInt):
            raise TypingError(f"{mine.signed} elements do not fit into {its.signed}")
        if not low.stack[0].is_kernel:
            ends = [] if isinstance(mine, ConstInt) else [low.builder.icmp("ne", mine, const_int(1))]
            checks.fail_if(low.builder.icmp("ne", mine, its), *ends)
            checks.learn((mine, its))
    checks.emit()
