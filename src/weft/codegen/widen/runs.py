"""Accesses in runs (`weft.analysis.shapes.runs`): a vector access for each, or an element for several lanes."""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.shapes.runs import Runs, find_runs
from weft.codegen.widen.context import Widening, mask_bits
from weft.codegen.widen.masked import masked_gather, masked_load, store_some
from weft.codegen.widen.vectors import concatenated
from weft.ir import ConstAggregate, ConstInt, Instruction, Poison, Value
from weft.ir.types import I8, I64, IntType, PointerType, VectorType

MAX_ELEMENTS = 8
"""Elements that are loaded one by one; a gather of more is less code."""

_EVALUATED = frozenset({"add", "sub", "mul", "shl", "sext", "zext", "trunc", "getelementptr"})
_DEPTH = 8


def runs_of(w: Widening, access: Instruction) -> Runs | None:
    """The runs that a plain access is made of; None where there are none to use.

    Under a mask the first lane of a run may be passive: its address has to be one that scalars extrapolate.
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
    extrapolated = is_extrapolated(w, pointer)
    if runs.length == 1 and runs.count <= MAX_ELEMENTS and extrapolated:
        return runs
    mask = w.divergence.shape_in(block.predicate, block)
    runs = find_runs(extents, address, size, [d for d in dims if mask.strides[d] == 0])
    return runs if runs is None or runs.length == 1 or extrapolated else None


def load_runs(w: Widening, load: Instruction, runs: Runs) -> Value:
    """What all lanes load."""
    own = [t for t in range(w.lanes.width) if not any(w.lanes.coordinate(t, d) for d in runs.same)]
    serves = {t: k for k, t in enumerate(own)}
    server = [serves[w.lanes.at_origin(t, runs.same)] for t in range(w.lanes.width)]
    if runs.length == 1:
        if runs.count <= MAX_ELEMENTS and (w.mask is None or is_extrapolated(w, load.pointer)):
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
    value, pointer = store.operands
    data = w.vector(value)
    for first in range(0, w.lanes.width, runs.length):
        lanes = _upward(range(first, first + runs.length), runs.downward)
        part = w.builder.shuffle(data, Poison(data.type), lanes)
        address, align = lane_value(w, pointer, lanes[0]), store.alignment
        mask = None if w.mask is None else w.builder.shuffle(w.mask, Poison(w.mask.type), lanes)
        store_some(w, store, part, address, mask, align)


def _load_run(w: Widening, load: Instruction, lanes: Sequence[int], downward: bool) -> Value:
    """Load the elements of a run, in the order of its lanes."""
    type, align = VectorType(load.type, len(lanes)), load.alignment
    upward = _upward(lanes, downward)
    address = lane_value(w, load.pointer, upward[0])
    if w.mask is None:
        built = w.builder.load(type, address, align=align, name=load.name)
    else:
        mask = w.builder.shuffle(w.mask, Poison(w.mask.type), upward)
        built = masked_load(w, type, address, mask, align)
    built.loc = load.loc
    if not downward:
        return built
    return w.builder.shuffle(built, Poison(type), range(len(lanes) - 1, -1, -1))


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
