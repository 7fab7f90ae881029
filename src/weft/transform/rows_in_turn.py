"""Stores that go to several rows by turns go row by row, where rows turn out to be far enough apart.

A thread that writes a block of a matrix column by column stores to ``out[0, c]``, ``out[1, c]``, ``out[0, c + 1]``, ...
What it stores to one row lies side by side, so lanes could write it with wide stores, but if rows had a length of 1 the
stores to another row in between would go to the same places. So the length is asked, which all threads share:

    head: ...; store out[c]; ...;               head:  ...; br n >= 2, rows, turns
          store out[n + c]; ...;                rows:  store out[c]; store out[c + 1]; store out[n + c]; ...; br rest
          store out[c + 1]; ...                 turns: store out[c]; store out[n + c]; store out[c + 1]; ...; br rest
                                                rest:  ...

The addresses of such stores have the same base, and differ by constants and by multiples of one parameter.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the same; in one of both ways no row's
stores have another row's in between. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from msgspec import Struct

from weft.analysis.memory.alias import are_apart
from weft.analysis.memory.linear_locations import ADDRESS_BITS, linear_location, summands
from weft.ir import Argument, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import split_block
from weft.ir.effects import is_convergent, may_not_return, may_read, may_write
from weft.ir.layout import DataLayout
from weft.ir.types import IntType

FARTHEST = 64
"""Bytes from a row's first element to the end of its last, which lanes are thought to write together."""

LONGEST = 1 << 30
"""No more elements, and rows, are asked for: the distance of two rows must not wrap around."""

LONG = 0.95
"""How likely rows are thought to be as long as that, where costs are estimated."""

MOST = 64
"""Stores that are put in order."""

_STEPS = 16
"""Sums within a factor that are taken apart."""


class _Place(Struct, frozen=True):
    """Where a store goes, in bytes: ``base + offset + rows · length + Σ scale · term``.

    Parameters
    ----------
    base, terms
        What stores must have in common. Of a term that is a product with the length the other factor is said.
    length
        The parameter that rows have their length from, None where no term is a product with one.
    rows, offset
        How many times the length the bytes to its row are, and the constant bytes behind them.
    """

    base: Value
    terms: Mapping[tuple[Value, bool], int]
    length: Value | None
    rows: int
    offset: int


class _Run(Struct):
    """Stores with nothing between them that would notice if they happened later."""

    stores: list[Instruction]
    places: list[_Place]
    sizes: list[int]

    def rows(self) -> list[int]:
        """The rows in the order in which they are first stored to."""
        return list(dict.fromkeys(place.rows for place in self.places))

    def by_rows(self) -> list[Instruction]:
        """The stores, row by row."""
        return [
            s for row in self.rows() for s, p in zip(self.stores, self.places, strict=True) if p.rows == row
        ]

    def is_worth_it(self) -> bool:
        """Whether some row's stores lie side by side, and others come in between."""
        if self.places[0].length is None or len(self.stores) > MOST:
            return False
        if any(abs(place.rows) >= LONGEST for place in self.places):
            return False
        turns = sum(a.rows != b.rows for a, b in pairwise(self.places)) + 1
        return turns > len(self.rows()) and all(self._is_near(row) for row in self.rows())

    def _is_near(self, row: int) -> bool:
        """Whether a row's stores are within reach of each other, and to different places."""
        own = sorted(
            (p.offset, size) for p, size in zip(self.places, self.sizes, strict=True) if p.rows == row
        )
        ends = [offset + size for offset, size in own]
        apart = all(end <= offset for end, (offset, _) in zip(ends, own[1:], strict=False))
        return apart and ends[-1] - own[0][0] <= FARTHEST

    def least_length(self) -> int:
        """From which length on no store to one row touches what one to another row does."""
        found = 1
        stored = list(zip(self.places, self.sizes, strict=True))
        for (a, a_size), (b, b_size) in combinations(stored, 2):
            if a.rows != b.rows:
                span = abs(a.offset - b.offset) + max(a_size, b_size)
                found = max(found, -(-span // abs(a.rows - b.rows)))
        return found


def store_row_by_row(function: Function) -> int:
    """Give stores to several rows an order by rows, under a condition; return how many stores that concerns."""
    changed = 0
    blocks = list(function.blocks)
    while blocks:
        runs = _runs(blocks.pop(), function.layout)
        if (found := next((run for run in runs if run.is_worth_it()), None)) is not None:
            blocks.append(_put_in_order(found))
            changed += len(found.stores)
    return changed


def _runs(block: BasicBlock, layout: DataLayout) -> Iterator[_Run]:
    """Stores that may all happen where the last of them does, to places that can be compared."""
    run = _Run([], [], [])
    for instruction in block.instructions:
        if instruction.op == "store" and instruction.is_plain_access:
            place = _place(instruction.pointer, layout)
            if run.stores and not _are_comparable(run.places, place):
                if are_apart(run.places[0].base, place.base):
                    continue
                yield run
                run = _Run([], [], [])
            run.stores.append(instruction)
            run.places.append(place)
            run.sizes.append(layout.store_size(instruction.accessed_type))
        elif run.stores and _may_notice(instruction, run, layout):
            yield run
            run = _Run([], [], [])
    if run.stores:
        yield run


def _may_notice(instruction: Instruction, run: _Run, layout: DataLayout) -> bool:
    """Whether it matters for an instruction whether the stores before it have happened."""
    if instruction.op == "load" and instruction.is_plain_access:
        return not are_apart(run.places[0].base, linear_location(instruction.pointer, layout).base)
    return (
        may_read(instruction)
        or may_write(instruction)
        or is_convergent(instruction)
        or may_not_return(instruction)
    )


def _are_comparable(places: Sequence[_Place], place: _Place) -> bool:
    first = places[0]
    return first.base is place.base and first.terms == place.terms and first.length is place.length


def _place(pointer: Value, layout: DataLayout) -> _Place:
    location = linear_location(pointer, layout)
    length = _length(location.terms)
    terms: dict[tuple[Value, bool], int] = {}
    rows = 0
    for index, scale in location.terms.items():
        multiples = None if length is None else _multiples(index, length)
        for part, times in [(index, 1)] if multiples is None else multiples:
            if isinstance(part, ConstInt):
                rows += scale * times * part.signed
            else:
                key = part, multiples is not None
                terms[key] = terms.get(key, 0) + scale * times
    return _Place(
        location.base, {t: scale for t, scale in terms.items() if scale}, length, rows, location.offset
    )


def _length(indices: Iterable[Value]) -> Argument | None:
    """The parameter that an index is a multiple of, or else one that is an index."""
    bare = [_without_casts(index) for index in indices]
    factors = (v for i in bare if isinstance(i, Instruction) and i.op == "mul" for v in i.operands)
    found = [v for v in map(_without_casts, factors) if isinstance(v, Argument)]
    found = found or [v for v in bare if isinstance(v, Argument)]
    return min(found, key=lambda a: a.index) if found else None


def _multiples(index: Value, length: Value) -> list[tuple[Value, int]] | None:
    """Values and factors whose sum times the length an index is; None where it is none, or may have wrapped around."""
    if _without_casts(index) is length:
        return [(const_int(1), 1)]
    if not isinstance(index, Instruction) or index.op != "mul" or not isinstance(index.type, IntType):
        return None
    if index.type.bits != ADDRESS_BITS and "nsw" not in index.flags:
        return None
    a, b = index.operands
    if _without_casts(b) is not length:
        a, b = b, a
    return list(_sum(a)) if _without_casts(b) is length else None


def _sum(value: Value) -> Iterator[tuple[Value, int]]:
    """Values and factors whose sum a value is."""
    work = [(value, 1)]
    for _ in range(_STEPS):
        if not work:
            return
        part, factor = work.pop()
        parts = summands(part)
        if parts is None:
            yield part, factor
        else:
            work += [(other, factor * times) for other, times in parts]
    yield from work


def _without_casts(value: Value) -> Value:
    """What a number is, that has more bits here."""
    while isinstance(value, Instruction) and (
        value.op == "sext" or (value.op == "zext" and "nneg" in value.flags)
    ):
        value = value.operands[0]
    return value


def _put_in_order(run: _Run) -> BasicBlock:
    """Ask for the length, and store in both orders; the block behind."""
    last = run.stores[-1]
    head, length = last.block, run.places[0].length
    assert head is not None and head.function is not None and length is not None
    after = head.instructions[head.instructions.index(last) + 1]
    rest = split_block(after, f"{head.name}.stored")
    turns = head.function.add_block(f"{head.name}.turns", after=head)
    rows = head.function.add_block(f"{head.name}.rows", after=head)
    for store in run.by_rows():
        rows.append(store.clone())
    for store in run.stores:
        store.detach()
        turns.append(store)
    for block in (rows, turns):
        Builder(block).br(rest).loc = last.loc
    head.terminator.erase()
    b = Builder(head)
    b.loc = last.loc
    b.cond_br(_is_long(b, length, run.least_length()), rows, turns).attrs["chance"] = LONG
    return rest


def _is_long(b: Builder, length: Value, least: int) -> Value:
    """Whether a length is between the least one and the greatest that is asked for."""
    if isinstance(length.type, IntType) and length.type.bits < ADDRESS_BITS:
        return b.icmp("sge", length, const_int(least, length.type))
    longer = b.binary("sub", length, const_int(least, length.type))
    return b.icmp("ult", longer, const_int(LONGEST - least, length.type))
