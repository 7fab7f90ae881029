"""Loads and stores, by what the shape of the address promises (Karrenberg and Hack §3.3, Moll ch. 10).

========================  ==================================================================================
address                   access
========================  ==================================================================================
uniform                   one scalar access; where perhaps no lane is active, it goes to a spare object then
stride = element size     one vector access, masked where not all lanes are active
stride = -element size    the same, reversed
other numbers             wide accesses and shuffles, together with neighbours (`interleave`), where that is cheaper
expressions in a box     contiguous pieces, loaded once and shuffled into lanes (`chunked`)
numbers in some dimension an access for each run of neighbours, an element for lanes that share it (`runs`)
counters of lanes' own    where there is no scatter, an update for each lane (`apart_updates`)
neighbours in each lane   pieces of each lane's row, transposed (`own_rows`)
from thread numbers       one vector access where lanes turn out to be neighbours (`neighbours`), else as follows
anything else             gather or scatter
========================  ==================================================================================

No passive lane's memory is ever touched. Atomic accesses are made lane by lane (`lane_loop`), and so are volatile ones
but those to shared memory (`volatile`).
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.own_walks import may_be_neighbours
from weft.codegen.widen.access_groups import AccessGroup, constant_stride, find_groups, is_worth_it
from weft.codegen.widen.apart_updates import update_of, widen_apart_update
from weft.codegen.widen.chunked import Chunks, chunks_of, load_chunks, store_chunks
from weft.codegen.widen.context import Widening, broadcast, mask_bits
from weft.codegen.widen.gather_pairs import GatherPair, find_pairs, widen_pair
from weft.codegen.widen.gathers import gather, scatter_addresses
from weft.codegen.widen.interleave import is_stored_in_pieces, widen_group_load, widen_group_store
from weft.codegen.widen.joint_stores import joint_stores_of, store_jointly
from weft.codegen.widen.masked import masked_load, masked_scatter, store_some
from weft.codegen.widen.memory_order import in_memory_order
from weft.codegen.widen.neighbours import in_two_ways, neighbours_of
from weft.codegen.widen.next_places import ask_for_next
from weft.codegen.widen.own_places import load_own, store_own
from weft.codegen.widen.own_rows import OwnRow, find_own_rows, load_own_row, store_own_row
from weft.codegen.widen.read_ahead import read_ahead, write_ahead
from weft.codegen.widen.runs import load_rows, load_runs, runs_of, store_rows, store_runs
from weft.codegen.widen.stack_objects import CACHE_LINE
from weft.codegen.widen.tables import look_up, table_of
from weft.ir import ConstInt, Instruction, Poison, Value
from weft.ir.types import I1, I8, I32, I64, VOID, Type, VectorType


def access_size(w: Widening, instruction: Instruction) -> int:
    """Bytes of one lane's access."""
    return w.module.layout.store_size(instruction.accessed_type)


def address_form(w: Widening, instruction: Instruction) -> str:
    """``uniform``, ``contiguous``, ``reversed`` or ``gather`` for a load or store."""
    pointer = instruction.pointer
    if w.is_scalar(pointer) and w.is_uniform(pointer):
        return "uniform"
    stride, size = constant_stride(w, pointer), access_size(w, instruction)
    # Values narrower than their bytes are packed differently in a vector and in an array.
    if w.module.layout.bit_size(instruction.accessed_type) != 8 * size:
        return "gather"
    if stride == size:
        return "contiguous"
    return "reversed" if stride == -size else "gather"


def _group_of(w: Widening, access: Instruction) -> AccessGroup | None:
    """The accesses that are made together with this one, if any are."""
    block = access.block
    assert block is not None
    if block not in w.groups:
        found = find_groups(w, block)
        for group in in_memory_order(w, found):
            group.in_memory_order = True
        w.groups[block] = {m.access: g for g in found if is_worth_it(w, g, block) for m in g.members}
    return w.groups[block].get(access)


def _pair_of(w: Widening, load: Instruction) -> GatherPair | None:
    """The two loads that are gathered together, if this is one of them."""
    block = load.block
    assert block is not None
    if block not in w.pairs:
        # Loads of a row or a structure are made with it.
        w.pairs[block] = find_pairs(
            w, block, lambda other: other not in w.own_rows.get(block, {}) and _group_of(w, other) is None
        )
    return w.pairs[block].get(load)


def _own_row_of(w: Widening, access: Instruction) -> OwnRow | None:
    """The row of each lane's own that this access belongs to, if it does to one."""
    block = access.block
    assert block is not None
    if w.mask is not None or sum(extent > 1 for extent in w.lanes.extents) != 1:
        return None
    if block not in w.own_rows:
        w.own_rows[block] = find_own_rows(w, block, lambda other: _is_apart(w, other))
    return w.own_rows[block].get(access)


def _is_apart(w: Widening, access: Instruction) -> bool:
    """Whether an access is a gather or a scatter of whose lanes nothing is known, or that they are some step apart."""
    if address_form(w, access) != "gather" or _group_of(w, access) is not None:
        return False
    on_stack = bool(w.divergence.engine.leads_to_stack(access.pointer))
    return not on_stack and not may_be_neighbours(access, w.divergence) and runs_of(w, access) is None


def widen_load(w: Widening, load: Instruction) -> None:
    """Widen a plain load."""
    group = _group_of(w, load)
    if group is not None:
        w.remark(load, "interleaved")
        if load is group.leader:
            widen_group_load(w, group)
        return
    form = address_form(w, load)
    if form == "uniform":
        address = _scalar_address(w, w.scalar(load.pointer), load.type, written=False)
        loaded = _copy(w, load, load.type, [address], {**load.attrs})
        w.set_scalar(load, loaded)
        if load not in w.kept:
            w.set_vector(load, broadcast(w.builder, loaded, w.lanes))
        return
    if form == "gather" and load_own(w, load):
        return
    row = _own_row_of(w, load) if form == "gather" else None
    if row is not None:
        w.remark(load, "own rows")
        if load is row.leader:
            load_own_row(w, row)
        return
    chunks = chunks_of(w, load) if form == "gather" else None
    if chunks is not None:
        w.remark(load, "runs" if isinstance(chunks, Chunks) and chunks.order is None else "chunks")
        w.set_vector(load, load_chunks(w, load, chunks))
        return
    runs = runs_of(w, load) if form == "gather" else None
    if runs is not None:
        w.remark(load, "runs")
        w.set_vector(load, load_runs(w, load, runs))
        return
    pair = _pair_of(w, load) if form == "gather" else None
    # The first one may have been loaded by itself, in another form.
    if pair is not None and (load is pair.first or load in w.vectors):
        w.remark(load, "gather")
        if load is pair.first:
            ask_for_next(w, load)
            widen_pair(w, pair)
        return
    table = table_of(w, load) if form == "gather" else None
    if table is not None:
        w.remark(load, "table")
        result = look_up(w, load, table)
    elif form == "gather":
        gathered = _gather(w, load)
        if gathered is None:
            return
        result = gathered
    elif form == "reversed":
        result = _reverse(w, _vector_load(w, load, _first_of_reversed(w, load), form))
    else:
        result = _vector_load(w, load, w.scalar(load.pointer), form)
    result.loc = load.loc
    w.set_vector(load, result)


def widen_store(w: Widening, store: Instruction) -> None:
    """Widen a plain store."""
    if store in w.updates:
        w.remark(store, "lane by lane")
        widen_apart_update(w, w.updates[store])
        return
    form = address_form(w, store)
    group = _group_of(w, store)
    # Interleaved stores do as well, unless they need masks.
    is_masked = group is None or group.has_gaps or w.mask is not None
    joint = joint_stores_of(w, store) if form == "gather" and is_masked else None
    if joint is not None and all(_may_leave_group(w, s, joint.stores) for s in joint.stores):
        w.remark(store, "chunks")
        if store is joint.stores[-1]:
            store_jointly(w, joint)
        return
    if group is not None:
        w.remark(store, "structures" if is_stored_in_pieces(w, group) else "interleaved")
        if store is group.leader:
            widen_group_store(w, group)
        return
    value, pointer = store.operands
    if form == "uniform":
        _store_one(w, store, value, pointer)
        return
    if form == "gather" and store_own(w, store):
        return
    row = _own_row_of(w, store) if form == "gather" else None
    if row is not None:
        w.remark(store, "own rows")
        if store is row.leader:
            store_own_row(w, row)
        return
    chunks = chunks_of(w, store) if form == "gather" else None
    if isinstance(chunks, Chunks):
        w.remark(store, "chunks" if chunks.order is not None else "runs")
        store_chunks(w, store, chunks)
        return
    runs = runs_of(w, store) if form == "gather" else None
    if runs is not None:
        w.remark(store, "runs")
        store_runs(w, store, runs)
        return
    data = w.vector(value)
    assert isinstance(data.type, VectorType)
    if form == "gather":
        _scatter(w, store, data)
    elif form == "reversed":
        mask = _reverse(w, w.mask) if w.mask is not None else None
        _vector_store(w, store, _reverse(w, data), _first_of_reversed(w, store), mask, form)
    else:
        _vector_store(w, store, data, w.scalar(pointer), w.mask, form)


def _may_leave_group(w: Widening, store: Instruction, others: Sequence[Instruction]) -> bool:
    """Whether a store need not be made with its group, if it is made with others."""
    group = _group_of(w, store)
    return group is None or (
        not group.in_memory_order and all(member.access in others for member in group.members)
    )


def _gather(w: Widening, load: Instruction) -> Instruction | None:
    """Load for each lane from an address of its own, at once where these turn out to be neighbours.

    None where the store of an update does all.
    """

    def apart() -> Instruction:
        built = gather(w, load, w.lanes.vector(load.type), load.attrs.get("align", 0))
        built.loc = load.loc
        return built

    found = neighbours_of(w, load)
    if found is None:
        update = update_of(w, load)
        if update is not None and _group_of(w, update.store) is None:
            w.remark(load, "lane by lane")
            w.updates[update.operation] = w.updates[update.store] = update
            return None
        w.remark(load, "gather")
        ask_for_next(w, load)
        return apart()

    def together() -> Instruction:
        if len(found.addresses) > 1:
            return load_rows(w, load, found.addresses)
        return _vector_load(w, load, found.addresses[0], "neighbours")

    if found.hold is None:
        if len(found.addresses) > 1:
            w.remark(load, "runs")
        return together()
    w.remark(load, "neighbours")
    return in_two_ways(w, found.hold, together, apart)


def _scatter(w: Widening, store: Instruction, data: Value) -> None:
    """Store each lane's value to an address of its own, at once where these turn out to be neighbours."""

    def apart() -> Instruction:
        addresses = scatter_addresses(w, store)
        built = masked_scatter(w, data, addresses, w.active(), store.attrs.get("align", 0))
        built.loc = store.loc
        return built

    found = neighbours_of(w, store)
    if found is None:
        w.remark(store, "scatter")
        apart()
        return

    def together() -> Instruction:
        if len(found.addresses) > 1:
            return store_rows(w, store, found.addresses)
        return _vector_store(w, store, data, found.addresses[0], w.mask, "neighbours")

    if found.hold is None:
        if len(found.addresses) > 1:
            w.remark(store, "runs")
        together()
        return
    w.remark(store, "neighbours")
    in_two_ways(w, found.hold, together, apart)


def _vector_store(
    w: Widening, store: Instruction, data: Value, address: Value, mask: Value | None, form: str
) -> Instruction:
    if form == "contiguous":
        write_ahead(w, store, address)
    return store_some(w, store, data, address, mask, _contiguous_align(w, store, form))


def _store_one(w: Widening, store: Instruction, value: Value, pointer: Value) -> None:
    """Store to a uniform address: the value of the last active lane, as one lane after the other would."""
    if w.is_uniform(value):
        stored = w.scalar(value)
    else:
        vector = w.vector(value)
        lane: Value = ConstInt(I32, w.lanes.width - 1)
        if w.mask is not None:
            bits = (
                w.builder.cast("zext", mask_bits(w.builder, w.mask), I64)
                if w.lanes.width < 64
                else mask_bits(w.builder, w.mask)
            )
            count = w.intrinsic("llvm.ctlz.i64", I64, (I64, I1))
            zeros = w.builder.call(count, (bits, ConstInt(I1, 0)))
            last = w.builder.binary("sub", ConstInt(I64, 63), zeros)
            # With no active lane the index is -1; any lane will do, the value is thrown away.
            lane = w.builder.cast(
                "trunc", w.builder.binary("and", last, ConstInt(I64, w.lanes.width - 1)), I32
            )
        stored = w.builder.extract_element(vector, lane)
    address = _scalar_address(w, w.scalar(pointer), value.type, written=True)
    _copy(w, store, VOID, [stored, address], {**store.attrs})


def _copy(
    w: Widening, access: Instruction, type: Type, operands: list[Value], attrs: dict[str, object]
) -> Instruction:
    return w.builder.insert(
        Instruction(access.op, type, operands, attrs=attrs, name=access.name, loc=access.loc)
    )


def _scalar_address(w: Widening, address: Value, type: Type, *, written: bool) -> Value:
    """`address`, or that of a spare object where no lane is active."""
    some = w.some_active()
    if some is None:
        return address
    return w.builder.select(some, address, w.spare_place(type, address.type, written=written))


def _vector_load(w: Widening, load: Instruction, address: Value, form: str) -> Instruction:
    type, align = w.lanes.vector(load.type), _contiguous_align(w, load, form)
    if form == "contiguous":
        read_ahead(w, load, address)
    if w.mask is None:
        built = w.builder.load(type, address, align=align, name=load.name)
    else:
        mask = _reverse(w, w.mask) if form == "reversed" else w.mask
        built = masked_load(w, type, address, mask, align)
    built.loc = load.loc
    return built


def _contiguous_align(w: Widening, access: Instruction, form: str) -> int:
    """The alignment of a vector access: what one lane's access promises, or what is known of lane 0's address."""
    if form != "contiguous":
        return access.alignment
    return max(access.alignment, min(w.divergence.shape(access.pointer).alignment, CACHE_LINE))


def _first_of_reversed(w: Widening, access: Instruction) -> Value:
    """The lowest address of an access with negative stride: that of the last lane."""
    pointer = w.scalar(access.pointer)
    back = -access_size(w, access) * (w.lanes.width - 1)
    return w.builder.gep(I8, pointer, (ConstInt(I64, back),))


def _reverse(w: Widening, vector: Value) -> Instruction:
    return w.builder.shuffle(vector, Poison(vector.type), list(range(w.lanes.width - 1, -1, -1)))
