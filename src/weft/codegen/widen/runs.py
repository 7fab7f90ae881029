"""Accesses in runs (`weft.analysis.shapes.runs`): a vector access for each, or an element for several lanes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.analysis.shapes.runs import Runs, find_runs
from weft.codegen.widen.context import Widening, mask_bits
from weft.codegen.widen.masked import masked_gather, masked_load, store_some
from weft.codegen.widen.vectors import concatenated
from weft.ir import Builder, ConstAggregate, ConstInt, Instruction, Poison, Value
from weft.ir.types import I1, I8, I64, IntType, PointerType, VectorType

MAX_ELEMENTS = 8
"""Elements that are loaded one by one; a gather of more is less code."""

_EVALUATED = frozenset({"add", "sub", "mul", "shl", "sext", "zext", "trunc", "getelementptr"})
_DEPTH = 8


def runs_of(w: Widening, access: Instruction) -> Runs | None:
    """The runs that a plain access is made of; None where there are none to use.

    Under a mask the first lane of a run may be passive: its address is one that scalars extrapolate, or is counted back
    from that of the first active lane.
    """
    pointer = access.pointer
    block = access.block
    assert block is not None
    layout, type = w.module.layout, access.accessed_type
    size = layout.store_size(type)
    if layout.bit_size(type) != 8 * size:
        return None
    on_stack = bool(w.divergence.engine.leads_to_stack(pointer))
    address = w.divergence.shape(pointer) if on_stack else w.divergence.shape_in(pointer, block)
    extents = w.lanes.extents
    dims = range(len(extents)) if access.op == "load" else range(0)
    runs = find_runs(extents, address, size, dims)
    if runs is None or w.mask is None or block.predicate is None:
        return runs
    if runs.length == 1 and runs.count <= MAX_ELEMENTS and _is_known(w, pointer, runs):
        return runs
    mask = w.divergence.shape_in(block.predicate, block)
    return find_runs(extents, address, size, [d for d in dims if mask.strides[d] == 0])


def load_runs(w: Widening, load: Instruction, runs: Runs) -> Value:
    """What all lanes load."""
    own = [t for t in range(w.lanes.width) if not any(w.lanes.coordinate(t, d) for d in runs.same)]
    serves = {t: k for k, t in enumerate(own)}
    server = [serves[w.lanes.at_origin(t, runs.same)] for t in range(w.lanes.width)]
    if runs.length == 1:
        if runs.count <= MAX_ELEMENTS and (w.mask is None or _is_known(w, load.pointer, runs)):
            return _elements(w, load, own, server)
        loaded: Value = _gather(w, load, own)
    else:
        parts = [own[k : k + runs.length] for k in range(0, len(own), runs.length)]
        loaded = concatenated(w.builder, [_load_run(w, load, lanes, runs.downward) for lanes in parts])
    if len(own) == w.lanes.width:
        return loaded
    return w.builder.shuffle(loaded, Poison(loaded.type), server)


def store_runs(w: Widening, store: Instruction, runs: Runs) -> None:
    """Store the values of all lanes, run after run as the lanes are ordered."""
    for first in range(0, w.lanes.width, runs.length):
        lanes = _upward(range(first, first + runs.length), runs.downward)
        mask = _mask_of(w, lanes)
        _store_at(w, store, lanes, _address_of(w, store, lanes, mask), mask)


def load_rows(w: Widening, load: Instruction, addresses: Sequence[Value]) -> Instruction:
    """What all lanes load, a row from each address on."""
    row = w.lanes.width // len(addresses)
    parts: list[Value] = []
    for k, address in enumerate(addresses):
        lanes = range(row * k, row * (k + 1))
        parts.append(_load_at(w, load, lanes, address, _mask_of(w, lanes)))
    loaded = concatenated(w.builder, parts)
    assert isinstance(loaded, Instruction)
    return loaded


def store_rows(w: Widening, store: Instruction, addresses: Sequence[Value]) -> Instruction:
    """Store the values of all lanes, a row from each address on; the last instruction of that."""
    row = w.lanes.width // len(addresses)
    made = [
        _store_at(w, store, lanes, address, _mask_of(w, lanes))
        for k, address in enumerate(addresses)
        for lanes in (range(row * k, row * (k + 1)),)
    ]
    return made[-1]


def _load_run(w: Widening, load: Instruction, lanes: Sequence[int], downward: bool) -> Value:
    """Load the elements of a run, in the order of its lanes."""
    upward = _upward(lanes, downward)
    mask = _mask_of(w, upward)
    built = _load_at(w, load, upward, _address_of(w, load, upward, mask), mask)
    if not downward:
        return built
    return w.builder.shuffle(built, Poison(built.type), range(len(lanes) - 1, -1, -1))


def _load_at(
    w: Widening, load: Instruction, lanes: Sequence[int], address: Value, mask: Value | None
) -> Instruction:
    """Load the elements of some lanes, in the order of memory."""
    type, align = VectorType(load.type, len(lanes)), load.alignment
    if mask is None:
        built = w.builder.load(type, address, align=align, name=load.name)
    else:
        built = masked_load(w, type, address, mask, align)
    built.loc = load.loc
    return built


def _store_at(
    w: Widening, store: Instruction, lanes: Sequence[int], address: Value, mask: Value | None
) -> Instruction:
    """Store the values of some lanes, in the order of memory."""
    data = w.vector(store.operands[0])
    part = w.builder.shuffle(data, Poison(data.type), lanes)
    return store_some(w, store, part, address, mask, store.alignment)


def _mask_of(w: Widening, lanes: Sequence[int]) -> Value | None:
    return None if w.mask is None else w.builder.shuffle(w.mask, Poison(w.mask.type), lanes)


def _address_of(w: Widening, access: Instruction, lanes: Sequence[int], mask: Value | None) -> Value:
    """The address of the first of some lanes that access neighbouring elements, each the one behind the one before."""
    return first_address(w, access.pointer, lanes, mask, w.module.layout.store_size(access.accessed_type))


def first_address(w: Widening, pointer: Value, lanes: Sequence[int], mask: Value | None, step: int) -> Value:
    """The address of the first of some lanes, each of which has one `step` bytes behind that of the one before.

    Where that is not what scalars extrapolate, it is counted back from the first one that is active in `mask`, which
    has a place for each of the lanes, a power of two.
    """
    if mask is None or is_extrapolated(w, pointer):
        return lane_value(w, pointer, lanes[0])
    builder = w.builder
    bits = mask_bits(builder, mask)
    count = w.intrinsic(f"llvm.cttz.{bits.type}", bits.type, (bits.type, I1))
    # With no active lane any will do.
    zeros: Value = builder.call(count, (bits, ConstInt(I1, 0)))
    if bits.type != I64:
        zeros = builder.cast("zext", zeros, I64)
    lane = builder.binary("and", zeros, ConstInt(I64, len(lanes) - 1))
    back = builder.binary("mul", lane, ConstInt(I64, -step))
    return builder.gep(I8, _value_of_some(w, pointer, lanes, lane), (back,))


def _upward(lanes: Sequence[int], downward: bool) -> Sequence[int]:
    """The lanes of a run in the order of memory."""
    return lanes[::-1] if downward else lanes


def _elements(w: Widening, load: Instruction, own: Sequence[int], server: Sequence[int]) -> Value:
    """Load each element by itself and spread it over the lanes side by side that share it."""
    builder = w.builder
    elements: list[Value] = []
    for k, lane in enumerate(own):
        address = lane_value(w, load.pointer, lane)
        if w.mask is not None:
            bits = mask_bits(builder, w.mask)
            assert isinstance(bits.type, IntType)
            served = ConstInt(bits.type, sum(1 << t for t, by in enumerate(server) if by == k))
            some = builder.icmp("ne", builder.binary("and", bits, served), ConstInt(bits.type, 0))
            address = builder.select(some, address, w.spare_place(load.type, address.type, written=False))
        element = builder.load(load.type, address, align=load.alignment, name=load.name)
        element.loc = load.loc
        elements.append(element)
    side = next((t for t, k in enumerate(server) if k != server[0]), len(server))
    type = VectorType(load.type, side)
    spread: list[Value] = []
    for element in elements:
        single = builder.insert_element(Poison(type), element, ConstInt(I64, 0))
        spread.append(builder.shuffle(single, Poison(type), [0] * side) if side > 1 else single)
    return concatenated(builder, [spread[server[t]] for t in range(0, w.lanes.width, side)])


def _gather(w: Widening, load: Instruction, own: Sequence[int]) -> Value:
    """Gather for the lanes of `own`."""
    builder, pointer, count = w.builder, load.pointer, len(own)
    if w.is_scalar(pointer):
        strides = [s for s in w.divergence.shape(pointer).strides if isinstance(s, int)]
        offsets = w.lanes.offsets(strides)
        steps = ConstAggregate(VectorType(I64, count), [ConstInt(I64, offsets[t]) for t in own])
        addresses: Value = builder.gep(I8, w.scalar(pointer), (steps,))
    else:
        every = w.vector(pointer)
        addresses = builder.shuffle(every, Poison(every.type), own)
    mask = builder.shuffle(w.active(), Poison(w.active().type), own)
    built = masked_gather(w, VectorType(load.type, count), addresses, mask, load.alignment)
    built.loc = load.loc
    return built


def lane_value(w: Widening, value: Value, lane: int, depth: int = _DEPTH) -> Value:
    """The value that a lane has, computed as a scalar where it is a short way from scalars."""
    if w.is_scalar(value):
        return _moved(w, value, lane)
    if depth and _is_evaluated(w, value):
        assert isinstance(value, Instruction)
        operands = [lane_value(w, v, lane, depth - 1) for v in value.operands]
        return w.builder.insert(
            Instruction(value.op, value.type, operands, attrs=value.attrs, name=value.name, loc=value.loc)
        )
    return w.builder.extract_element(w.vector(value), ConstInt(I64, lane))


def _value_of_some(
    w: Widening, value: Value, lanes: Sequence[int], which: Value, depth: int = _DEPTH
) -> Value:
    """The value that one of some lanes has, of which it is known when the code runs; computed likewise."""
    builder = w.builder
    if w.is_scalar(value):
        scalar = w.scalar(value)
        strides = [s for s in w.divergence.shape(value).strides if isinstance(s, int)]
        if w.is_uniform(value):
            return scalar
        offsets = w.lanes.offsets(strides)
        pointer = isinstance(scalar.type, PointerType)
        type = I64 if pointer else scalar.type
        assert isinstance(type, IntType)
        offset = _chosen(builder, type, [offsets[lane] for lane in lanes], which)
        return builder.gep(I8, scalar, (offset,)) if pointer else builder.binary("add", scalar, offset)
    if depth and _is_evaluated(w, value):
        assert isinstance(value, Instruction)
        operands = [_value_of_some(w, v, lanes, which, depth - 1) for v in value.operands]
        return builder.insert(
            Instruction(value.op, value.type, operands, attrs=value.attrs, name=value.name, loc=value.loc)
        )
    return builder.extract_element(w.vector(value), _chosen(builder, I64, lanes, which))


def _chosen(builder: Builder, type: IntType, numbers: Sequence[int], which: Value) -> Value:
    """One of some numbers, by its place among them, an i64."""
    first, step = numbers[0], numbers[1] - numbers[0]
    if any(number != first + step * place for place, number in enumerate(numbers)):
        table = ConstAggregate(VectorType(type, len(numbers)), [ConstInt(type, number) for number in numbers])
        return builder.extract_element(table, which)
    place = which
    if type != I64:
        place = builder.cast("trunc" if type.bits < I64.bits else "zext", which, type)
    return builder.binary("add", builder.binary("mul", place, ConstInt(type, step)), ConstInt(type, first))


def is_extrapolated(w: Widening, value: Value, depth: int = _DEPTH) -> bool:
    """Whether `lane_value` gives, of a passive lane too, what the strides of `value` say of it.

    It does where the value is made of scalars by sums and products alone: these are strided modulo 2^n whatever wraps.
    """
    if w.is_scalar(value):
        return True
    if not depth or not _is_evaluated(w, value):
        return False
    assert isinstance(value, Instruction)
    if value.op in ("sext", "zext") or (value.op == "shl" and not isinstance(value.operands[1], ConstInt)):
        return False
    if value.op == "getelementptr" and any(v.type != I64 for v in value.operands[1:]):
        return False
    return all(is_extrapolated(w, v, depth - 1) for v in value.operands)


def _is_known(w: Widening, pointer: Value, runs: Runs) -> bool:
    """Whether `lane_value` gives the address of an element that some lanes share, though its lane may be passive."""
    return is_extrapolated(w, pointer) or _is_shared(w, pointer, runs.same)


def _is_shared(w: Widening, value: Value, dims: Collection[int], depth: int = _DEPTH) -> bool:
    """Whether a value is computed of scalars that lanes share along some dimensions, so that any of them will do."""
    if w.is_scalar(value):
        strides = w.divergence.shape(value).strides
        return all(strides[d] == 0 for d in dims)
    if not depth or not isinstance(value, Instruction) or not _is_evaluated(w, value):
        return False
    return all(_is_shared(w, v, dims, depth - 1) for v in value.operands)


def _is_evaluated(w: Widening, value: Value) -> bool:
    if not isinstance(value, Instruction) or value.op not in _EVALUATED:
        return False
    # Addresses in interleaved stack objects are moved W times as far.
    return not value.type.is_pointer or w.divergence.element_bytes(value) is None


def _moved(w: Widening, value: Value, lane: int) -> Value:
    """The value of a lane, of one that is kept as that of lane 0."""
    scalar = w.scalar(value)
    if w.is_uniform(value):
        return scalar
    strides = [s for s in w.divergence.shape(value).strides if isinstance(s, int)]
    offset = sum(s * w.lanes.coordinate(lane, d) for d, s in enumerate(strides))
    if not offset:
        return scalar
    if isinstance(scalar.type, PointerType):
        return w.builder.gep(I8, scalar, (ConstInt(I64, offset),))
    assert isinstance(scalar.type, IntType)
    return w.builder.binary("add", scalar, ConstInt(scalar.type, offset))
