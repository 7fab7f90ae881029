"""Indices that the source keeps as ``uint``: computed as ``int`` where both say the same place.

``a[y * width + x]`` of a ``uint`` x wraps around at 2³², so that neighbours are not known to be neighbours, and lanes
gather or ask at run time. But an address within an object of less than 2 GiB has an index that is no larger than a
positive ``int``, and the address of any other place is poison. A sum that ends there has not wrapped around as an
``int`` either, if what is known of its parts rules out that it did by more.

PTX promises neither that sums do not wrap around nor that addresses are in their objects, nor does C with ``-fwrapv``.
There a sum that is extended is looked at if it is known to be accessed (`accessed_indices`). ``n*y + x + 16*b`` may
wrap around legally as it is written, if all that is known of b is that it is positive. But sums of 32 bits that wrap
around may be added in any order: of ``(n*y + 16*b) + x`` the last sum does not, if x is small. So the parts that may be
largest come first. In loops the first iteration's access may tell that later sums do not wrap around
(`anchored_sums`).

Precondition: canonical form, without predicates, shadows and guards; what is said of the sizes of objects
(`SMALL_ARRAYS_ATTRIBUTE`) holds. Postcondition: indices of ``inbounds`` addresses in small objects, and those that are
known to be accessed, are ``sext`` of a sum without signed wrap-around, where ranges prove it. Preserves the program
under FR: new flags concern threads only whose address was poison, or whose access was undefined.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.integers.intervals import Interval, full
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.memory.alias import locate
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions, replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.slices import slice_of
from weft.ir.types import I32, I64
from weft.transform.numbers.accessed_indices import is_small, window
from weft.transform.numbers.accessed_multiples import accessed_multiple, is_cut_multiple
from weft.transform.numbers.anchored_sums import AnchoredSums

_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1
_MAX_DEPTH = 8


def sign_indices(function: Function) -> int:
    """Compute indices as signed numbers where that is the same; return how many addresses that changed."""
    found = [i for i in function.instructions() if _has_unsigned_index(i, function)]
    cut = [i for i in function.instructions() if is_cut_multiple(i)]
    extensions = [i for i in function.instructions() if _extends_sum(i)]
    if not extensions and not cut:
        return 0
    view = cfg_of(function)
    ranges = ranges_of(function, view)
    multiples = {extension: accessed_multiple(extension, ranges, function) for extension in cut}
    extensions = [i for i in extensions if multiples.get(i) is None]
    sums, changed = _Signed(ranges, AnchoredSums(function, view), {}, {}), 0
    extended: dict[tuple[Value, Value], Value] = {}
    for address in found:
        index = address.operands[1]
        assert isinstance(index, Instruction)
        size = function.layout.size(address.source_type)
        signed = sums.sum(index.operands[0], Interval(0, _LARGEST // max(size, 1)))
        if signed is index.operands[0]:
            continue
        if (index, signed) not in extended:
            builder = Builder(before=index)
            builder.loc = index.loc
            extended[index, signed] = builder.cast("sext", signed, I64)
        address.set_operand(1, extended[index, signed])
        address.flags = tuple(flag for flag in address.flags if flag == "inbounds")
        changed += 1
    changed += sum(_sign_accessed(extension, sums, function) for extension in extensions)
    for extension, multiple in multiples.items():
        if multiple is not None:
            replace_and_erase(extension, multiple)
            changed += 1
    remove_dead_instructions(function)
    return changed


def _has_unsigned_index(address: Instruction, function: Function) -> bool:
    """Whether it is an address in a small object, with an index that a sum of 32 bits is extended to without sign."""
    if address.op != "getelementptr" or "inbounds" not in address.flags or len(address.operands) != 2:
        return False
    index = address.operands[1]
    if not isinstance(index, Instruction) or index.op != "zext" or not _extends_sum(index):
        return False
    return is_small(locate(address, function.layout).base, function)


def _extends_sum(extension: Instruction) -> bool:
    """Whether it makes 64 bits of a sum of 32, which may wrap around."""
    return extension.op in ("sext", "zext") and extension.type == I64 and _may_wrap(extension.operands[0])


def _may_wrap(value: Value) -> bool:
    return (
        isinstance(value, Instruction) and _is_sum(value) and value.type == I32 and "nsw" not in value.flags
    )


def _sign_accessed(extension: Instruction, sums: _Signed, function: Function) -> bool:
    """Extend a sum without wrap-around instead, if it is accessed; return whether that changed it."""
    wanted = window(extension, function) if extension.is_used else None
    if wanted is None:
        return False
    if extension.op == "zext":
        wanted = Interval(max(wanted.lo, 0), wanted.hi)
        if wanted.hi > _LARGEST:
            return False
    wanted = Interval(max(wanted.lo, _SMALLEST), min(wanted.hi, _LARGEST))
    if wanted.lo > wanted.hi:
        return False
    number = extension.operands[0]
    signed = sums.sum(number, wanted)
    if (
        not _is_exact(signed)
        and extension.op == "sext"
        and (anchored := sums.anchored(extension)) is not None
    ):
        replace_and_erase(extension, anchored)
        return True
    if not _is_exact(signed):
        ordered = sums.ordered(extension)
        other = sums.sum(ordered, wanted) if ordered is not None else ordered
        signed = other if other is not None and other is not ordered else signed
    if signed is number:
        return False
    builder = Builder(before=extension)
    builder.loc = extension.loc
    replace_and_erase(extension, _wide(builder, signed, {}))
    return True


def _wide(builder: Builder, number: Value, made: dict[Value, Value]) -> Value:
    """A number extended with its sign; a sum is extended where products begin that may wrap around.

    Along rows such a product is the same for all threads, and the sum goes up by one.
    """
    if number in made:
        return made[number]
    if isinstance(number, Instruction) and _has_product(number):
        first, second = (_wide(builder, operand, made) for operand in number.operands)
        made[number] = builder.binary(number.op, first, second, ("nsw",))
        return made[number]
    if isinstance(number, Instruction) and number.op == "trunc" and "nsw" in number.flags:
        return number.operands[0] if number.operands[0].type == I64 else builder.cast("sext", number, I64)
    return builder.cast("sext", number, I64)


def _has_product(number: Value) -> bool:
    """Whether a sum that does not wrap around has a part that may, other than a sum."""
    parts = slice_of(number, lambda i: _is_sum(i) and not _may_wrap(i))
    return any(_is_open_product(part) for part in parts if part is not number)


def _is_open_product(value: Value) -> bool:
    return isinstance(value, Instruction) and value.op in ("mul", "shl") and "nsw" not in value.flags


def _is_exact(value: Value) -> bool:
    """Whether no sum in it may wrap around."""
    return not any(map(_may_wrap, slice_of(value, _is_sum)))


class _Signed(Struct, frozen=True):
    """Builds sums without signed wrap-around, once for each number that is wanted."""

    ranges: Ranges
    anchors: AnchoredSums
    made: dict[tuple[Value, Interval], Value]
    parts: dict[tuple[BasicBlock | None, str, Value, Value], Value]

    def sum(self, value: Value, wanted: Interval, depth: int = 0) -> Value:
        """The value as a sum that does not wrap around if its low bits are in `wanted`; itself where it may."""
        if not _may_wrap(value):
            return value
        assert isinstance(value, Instruction)
        if (value, wanted) in self.made:
            return self.made[value, wanted]
        one, other = self._range(value.operands[0], value), self._range(value.operands[1], value)
        low, high = _sum(one, other) if value.op == "add" else _difference(one, other)
        # The exact sum is the wanted number, or that many times 2³² off: only the first is possible.
        if depth > _MAX_DEPTH or high >= wanted.lo + (1 << 32) or low <= wanted.hi - (1 << 32):
            return value
        if value.op == "add":
            parts = _difference(wanted, other), _difference(wanted, one)
        else:
            parts = _sum(wanted, other), _difference(one, wanted)
        first, second = (
            self.sum(operand, Interval(max(part[0], _SMALLEST), min(part[1], _LARGEST)), depth + 1)
            for operand, part in zip(value.operands, parts, strict=True)
        )
        builder = Builder(before=value)
        builder.loc = value.loc
        built = self.made[value, wanted] = builder.binary(value.op, first, second, ("nsw",))
        return built

    def ordered(self, extension: Instruction) -> Value | None:
        """The sum that is extended, in which what may be largest comes first; None where it has but two parts."""
        terms = _terms(extension.operands[0])
        if len(terms) < 3:
            return None
        ranges = [self._range(term, extension) for term, _ in terms]
        order = sorted(range(len(terms)), key=lambda k: -max(-ranges[k].lo, ranges[k].hi))
        first = next((k for k in order if terms[k][1] > 0), None)
        if first is None:
            return None
        total = terms[first][0]
        for k in order:
            if k != first:
                total = self._part(extension, "add" if terms[k][1] > 0 else "sub", total, terms[k][0])
        return total

    def anchored(self, extension: Instruction) -> Value | None:
        """What is extended, as a sum of 64 bits, if the first iteration's access tells that it does not wrap around.

        Lanes that have left the loop may be beyond 2³¹ where lanes that go on are not: so each part is extended.
        """
        terms = _terms(extension.operands[0])
        at = self.anchors.moving_term(extension, terms)
        if at is None:
            return None
        moving, _ = terms.pop(at)
        first = next((k for k, (_, sign) in enumerate(terms) if sign > 0), None)
        total = terms.pop(first)[0] if first is not None else ConstInt(I32, 0)
        for term, sign in terms:
            total = self._part(extension, "add" if sign > 0 else "sub", total, term)
        builder = Builder(before=extension)
        builder.loc = extension.loc
        return builder.binary("add", _wide(builder, total, {}), _wide(builder, moving, {}), ("nsw",))

    def _part(self, at: Instruction, op: str, first: Value, second: Value) -> Value:
        """A sum, built once in each block."""
        key = at.block, op, first, second
        if key not in self.parts:
            builder = Builder(before=at)
            builder.loc = at.loc
            self.parts[key] = builder.binary(op, first, second)
        return self.parts[key]

    def _range(self, operand: Value, at: Instruction) -> Interval:
        if isinstance(operand, ConstInt):
            return Interval(operand.signed, operand.signed)
        return self.ranges.at(operand, at.block) or full(32)


def _terms(value: Value, sign: int = 1, depth: int = 0) -> list[tuple[Value, int]]:
    """The numbers that are added up to a sum, with their signs.

    A position in the grid stays whole, though it was a sum before it was cut short: groups in a row are known by it.
    """
    if not _is_sum(value) or depth > _MAX_DEPTH:
        return [(value, sign)]
    assert isinstance(value, Instruction)
    first, second = value.operands
    other = sign if value.op == "add" else -sign
    return [*_terms(first, sign, depth + 1), *_terms(second, other, depth + 1)]


def _is_sum(value: Value) -> bool:
    return isinstance(value, Instruction) and value.op in ("add", "sub")


def _sum(a: Interval, b: Interval) -> tuple[int, int]:
    return a.lo + b.lo, a.hi + b.hi


def _difference(a: Interval, b: Interval) -> tuple[int, int]:
    return a.lo - b.hi, a.hi - b.lo
