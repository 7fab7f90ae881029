"""Accesses of boxes in chunks: contiguous pieces of memory, shared among instructions and lanes (Moll, §11.4, 11.6.2).

Each lane's address is an expression (`lane_expressions`); lanes whose expressions differ by constants access elements
of one *strip* of memory. Of an access to as many elements as there are lanes either

* the lanes of each register, as the projection orders them, are neighbours in memory: then it is loaded or stored at
  once (or in the pieces in which they are), or
* the elements in the order of memory fill longer pieces, and a permutation of bits leads from one order to the other
  (`bit_permutation`): then these chunks are loaded and shuffled into lanes, or shuffled and stored, or
* loads are picked out of pieces that cover what several of them need (`covered`).

What is loaded once in a block serves every other load of the same elements there until a write may have changed them:
the access groups of a stencil need each element once for all of its loads. Lanes that share an element, and accesses
whose expressions are not known, are left to `runs` and `memory`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.codegen.widen.access_groups import constant_stride, made_with
from weft.codegen.widen.bit_permutation import bit_permutation, count_shuffles, permute_registers
from weft.codegen.widen.context import Widening
from weft.codegen.widen.covered import Covering, covering_of, pick
from weft.codegen.widen.masked import masked_load, store_some
from weft.codegen.widen.shifted import shifted_of
from weft.codegen.widen.sums_of_products import Strip, is_address
from weft.codegen.widen.vectors import concatenated
from weft.ir import ConstAggregate, ConstInt, Instruction, Poison, Value
from weft.ir.effects import may_write
from weft.ir.types import I1, I8, I64, VectorType

GATHERED, INSERTED, HALF = 2.5, 1.25, 0.7
"""What an element that is gathered, and a piece that is loaded into a part or a half of a register, cost in accesses.
Guess for the first two. Halves cost nothing but the load: wider loads and shuffles in their place, as are drawn for
rows in Moll, Fig. 11.9a, take up to a quarter more time in boxes of 2x2 and 2x4."""


class Chunks(Struct, frozen=True):
    """How an access is made of pieces.

    Parameters
    ----------
    pieces
        Strip and offset of each, in the order in which they fill registers.
    length
        Elements of a piece.
    order
        For each bit of a lane's number the bit of the element's number in the pieces; None where they are the same.
    """

    pieces: tuple[tuple[Strip, int], ...]
    length: int
    order: tuple[int, ...] | None


def chunks_of(w: Widening, access: Instruction) -> Chunks | Covering | None:
    """The pieces that a plain access of a box of lanes is made of; None where there are none to use."""
    size = w.module.layout.store_size(access.accessed_type)
    found = elements_of(w, access)
    if found is None:
        return None
    slots = min(w.lanes.width, w.isa.lanes(8 * size))
    direct = _length(found, size, slots)
    if direct == slots:
        shifted = shifted_of(w, access, found, size, slots) if access.op == "load" else None
        if shifted is not None:
            return shifted
        return Chunks(tuple(found[k] for k in range(0, len(found), direct)), direct, None)
    chunks, cost = _cheapest(found, size, slots, direct)
    if access.op == "load" and w.mask is None and slots > 1:
        covering = covering_of(w, access, found, size, slots, lambda each: _is_scattered(each, size, slots))
        if covering.cost <= cost:
            return covering
    return chunks


def cost_of_pieces(places: Sequence[int], size: int, slots: int) -> float | None:
    """What an access of lanes to elements of one object costs, in accesses of a register; None where it has no pieces.

    `places` are the bytes from the object's begin to each lane's element of `size` bytes, of which a register holds
    `slots`.
    """
    if len(set(places)) != len(places):
        return None
    elements = [((), place) for place in places]
    direct = _length(elements, size, slots)
    if direct == slots:
        return len(places) / slots
    chunks, cost = _cheapest(elements, size, slots, direct)
    return None if chunks is None else cost


def elements_of(w: Widening, access: Instruction, *, strided: bool = False) -> list[tuple[Strip, int]] | None:
    """The strip and the offset that each lane accesses, no two the same; None where that is not known.

    Lanes along one dimension that are a constant stride apart are left to others, unless they may be `strided`.
    """
    pointer, type = access.pointer, access.accessed_type
    if w.module.layout.bit_size(type) != 8 * w.module.layout.store_size(type):
        return None
    one_dimension = sum(e > 1 for e in w.lanes.extents) < 2
    if one_dimension and not strided and constant_stride(w, pointer) is not None:
        return None
    if w.divergence.engine.leads_to_stack(pointer) or w.divergence.element_bytes(pointer) is not None:
        return None
    found: list[tuple[Strip, int]] = []
    expressions = w.expressions(everywhere=w.mask is not None)
    for lane in range(w.lanes.width):
        at = expressions.at(pointer, lane)
        if at is None or not is_address(at):
            return None
        found.append((at.terms, at.constant))
    return found if len(set(found)) == len(found) else None


def _cheapest(
    elements: Sequence[tuple[Strip, int]], size: int, slots: int, direct: int
) -> tuple[Chunks | None, float]:
    """The better one of pieces in the order of lanes and of pieces in the order of memory, and its cost in accesses."""
    numbers = {strip: k for k, strip in enumerate(dict.fromkeys(strip for strip, _ in elements))}
    places = sorted(range(len(elements)), key=lambda t: (numbers[elements[t][0]], elements[t][1]))
    in_memory = [elements[t] for t in places]
    chunk = _length(in_memory, size, slots)
    if chunk > direct:
        position = {t: p for p, t in enumerate(places)}
        order = _order(in_memory, [position[t] for t in range(len(elements))], chunk, slots)
        if order is not None:
            registers = len(elements) // slots
            shuffles = count_shuffles(order, (slots - 1).bit_length()) * registers
            cost = len(elements) // chunk + shuffles
            if cost < 2 * len(elements) // direct:
                pieces = tuple(in_memory[k] for k in range(0, len(elements), chunk))
                return Chunks(pieces, chunk, order), cost
    if direct == 1:
        return None, GATHERED * len(elements)
    pieces = tuple(elements[k] for k in range(0, len(elements), direct))
    each = HALF if 2 * direct == slots else INSERTED
    return Chunks(pieces, direct, None), each * len(pieces)


def _is_scattered(elements: Sequence[tuple[Strip, int]], size: int, slots: int) -> bool:
    """Whether there are neither pieces in the order of lanes nor in that of memory."""
    direct = _length(elements, size, slots)
    return direct == 1 and slots > 1 and _cheapest(elements, size, slots, direct)[0] is None


def _order(
    in_memory: Sequence[tuple[Strip, int]], position: list[int], chunk: int, slots: int
) -> tuple[int, ...] | None:
    """The permutation of bits between the order of memory and that of lanes."""
    found = bit_permutation(position)
    return tuple(found) if found is not None else None


def _length(elements: Sequence[tuple[Strip, int]], size: int, most: int) -> int:
    """The longest power of two of which all pieces are contiguous."""
    length = 1
    while 2 * length <= most:
        wider = 2 * length
        for first in range(0, len(elements), wider):
            (left, at), (right, next_at) = elements[first], elements[first + length]
            if left != right or next_at != at + length * size:
                return length
        length = wider
    return length


def load_chunks(w: Widening, load: Instruction, chunks: Chunks | Covering) -> Value:
    """What all lanes load."""
    slots = min(w.lanes.width, w.isa.lanes(8 * w.module.layout.store_size(load.type)))
    if isinstance(chunks, Covering):
        loaded = [
            _load(w, load, strip, offset, VectorType(load.type, length), None, k)
            for k, (strip, offset, length) in enumerate(chunks.pieces)
        ]
        return concatenated(w.builder, pick(w.builder, chunks, loaded, slots))
    masks = _masks(w, chunks, slots)
    type = VectorType(load.type, chunks.length)
    pieces = [
        _load(w, load, strip, offset, type, masks, k) for k, (strip, offset) in enumerate(chunks.pieces)
    ]
    if chunks.order is None:
        return concatenated(w.builder, pieces)
    registers = _registers(w, pieces, slots // chunks.length)
    return concatenated(w.builder, permute_registers(w.builder, registers, chunks.order, slots))


def _registers(w: Widening, pieces: list[Value], each: int) -> list[Value]:
    return [concatenated(w.builder, pieces[k : k + each]) for k in range(0, len(pieces), each)]


def store_chunks(w: Widening, store: Instruction, chunks: Chunks) -> None:
    """Store the values of all lanes."""
    data, type = w.vector(store.stored_value), store.accessed_type
    slots = min(w.lanes.width, w.isa.lanes(8 * w.module.layout.store_size(type)))
    in_order = _in_memory_order(w, data, chunks, slots)
    masks = _masks(w, chunks, slots)
    for k, (strip, offset) in enumerate(chunks.pieces):
        address = _address(w, store, strip, offset)
        part = _part(w, in_order, k, chunks.length, slots)
        mask = None if masks is None else _part(w, masks, k, chunks.length, slots)
        store_some(w, store, part, address, mask, store.alignment)


def _in_memory_order(w: Widening, vector: Value, chunks: Chunks, slots: int) -> list[Value]:
    """A value of all lanes as registers whose elements are in the order of the pieces."""
    width = w.lanes.width
    registers = [
        w.builder.shuffle(vector, Poison(vector.type), range(k, k + slots)) if slots < width else vector
        for k in range(0, width, slots)
    ]
    if chunks.order is None:
        return registers
    back = [chunks.order.index(bit) for bit in range(len(chunks.order))]
    return list(permute_registers(w.builder, registers, back, slots))


def _part(w: Widening, registers: list[Value], number: int, length: int, slots: int) -> Value:
    """A piece of what registers hold."""
    register, inside = registers[number * length // slots], number * length % slots
    if length == slots:
        return register
    return w.builder.shuffle(register, Poison(register.type), range(inside, inside + length))


def _masks(w: Widening, chunks: Chunks, slots: int) -> list[Value] | None:
    """The mask in the order of the pieces; None where all lanes are active."""
    return None if w.mask is None else _in_memory_order(w, w.mask, chunks, slots)


def _load(
    w: Widening,
    load: Instruction,
    strip: Strip,
    offset: int,
    type: VectorType,
    masks: list[Value] | None,
    number: int,
) -> Value:
    """Load a piece, if it has not been; one that is no power of two in a register that is wide enough."""
    if masks is not None:
        slots = masks[0].type.count if isinstance(masks[0].type, VectorType) else 1
        mask = _part(w, masks, number, type.count, slots)
        made = masked_load(w, type, _address(w, load, strip, offset), mask, load.alignment)
        made.loc = load.loc
        return made
    pieces, writes = w.pieces.values, w.pieces.writes
    known = pieces.get((strip, offset, type))
    if known is not None and not _is_written(w, load, writes[known[1] :]):
        return known[0]
    address = _address(w, load, strip, offset)
    register = VectorType(type.element, 1 << (type.count - 1).bit_length())
    if register == type:
        found = w.builder.load(type, address, align=load.alignment, name=load.name)
    else:
        needed = ConstAggregate(
            VectorType(I1, register.count), [ConstInt(I1, int(k < type.count)) for k in range(register.count)]
        )
        found = masked_load(w, register, address, needed, load.alignment)
    found.loc = load.loc
    pieces[strip, offset, type] = found, len(writes)
    return found


def _address(w: Widening, access: Instruction, strip: Strip, offset: int) -> Value:
    """An address in a strip."""
    known = w.pieces.addresses.get(strip)
    if known is None:
        known = w.pieces.addresses[strip] = w.expressions(everywhere=False).build(strip)
    return w.builder.gep(I8, known, (ConstInt(I64, offset),)) if offset else known


def _is_written(w: Widening, load: Instruction, writes: Sequence[tuple[Value, int]]) -> bool:
    """Whether stores may have changed what a load reads: of one thread, which is enough (`access_groups`).

    A piece may have elements between those that it was loaded for, so each load asks for its own.
    """
    size = w.module.layout.store_size(load.type)
    return any(w.addresses.may_overlap(load.pointer, size, pointer, each) for pointer, each in writes)


def forget_pieces(w: Widening, instruction: Instruction) -> None:
    """Note that an instruction may have changed what has been loaded."""
    if not w.pieces.values or not may_write(instruction):
        return
    if instruction.is_plain_access:
        assert instruction.block is not None
        # Those that waited for it are made here.
        waiting = made_with(w, instruction, w.own_rows.get(instruction.block, {}))
        w.pieces.writes += [(s.pointer, w.module.layout.store_size(s.accessed_type)) for s in waiting]
    else:
        w.pieces.values.clear()
