"""Kernels that update shared elements (histograms, sums by cell): each run of groups in copies of its own.

The threads of a kernel only update some arrays (`weft.analysis.memory.updated_arrays`). The pool hands out groups in
runs, long ones for such kernels, and each run is done by one thread of the processor. So a run may fill a copy of each
array with what changes nothing, update that by loads, operations and stores instead of the machine's locked
instructions, and add what has changed to the array behind its last group, atomically
(`weft.codegen.work_groups.merged_pairs`): others may be about the same. Copies are made where the run has more updates
than the arrays have elements: as many for each thread as are written in a block, times the iterations of loops around
that (`weft.analysis.memory.update_counts`), or the rounds of its walk of the grid, where it is one. The locked
instructions stay for other runs, and where there is no memory.

Precondition: plain LLVM IR; atomic operations that may go to copies have the scope `COPY_SCOPE`, which says nothing to
LLVM. Postcondition: the module has a second version of the entry point and of what it calls, in which no operation has
it, and a new entry point that chooses. Preserves what is in memory behind a launch, but for the order of operations
that may be done in any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from weft.analysis.memory.updated_arrays import LARGEST, UpdatedArray
from weft.codegen.launch_record import ARGS, BLOCK, GRID, RECORD
from weft.codegen.loops import counted_loop, two_arms, variable
from weft.codegen.parallel.combine import OF_ATOMIC, neutral_value
from weft.codegen.stack import ENTRY_ATTRIBUTES
from weft.codegen.work_groups.groups import load_argument
from weft.codegen.work_groups.merged_pairs import merge
from weft.ir import TRUE, Builder, Function, Instruction, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.clone import ValueMap, clone_function
from weft.ir.constants import ConstNull, zero_of
from weft.ir.effects import is_speculatable
from weft.ir.lane_updates import COPY_SCOPE, build_plain_update, goes_to_copy
from weft.ir.types import I8, I32, I64, PTR, VOID, ArrayType, FunctionType

_ROUNDS = 16
"""So often a loop of a thread's is taken to run of which nobody knows. How often a walk of the grid does, at least so
often, and a loop up to a parameter, is known in a launch."""

_MOST_ROUNDS = 1 << 20
_MOST_UPDATES = 1 << 30
"""What numbers of iterations and their products are cut off at, so that no product wraps around."""

_LINE = 64

_CHOICE = FunctionType(I64, (I64, I64))

_EXTREMA = tuple(f"llvm.{sign}{which}." for sign in "su" for which in ("min", "max"))


def mark_updates(updates: Sequence[Instruction]) -> None:
    """Note that atomic operations may go to a copy."""
    for update in updates:
        update.attrs = {**update.attrs, "syncscope": COPY_SCOPE}


def run_groups_with_copies(
    module: Module,
    entry: Function,
    parameters: int,
    arrays: Sequence[UpdatedArray],
    steps: Function | None = None,
) -> Function:
    """Add an entry point that runs groups with copies of arrays, or without; that one.

    Parameters
    ----------
    module
        Holds the entry point, and what it calls.
    entry
        Runs groups on the arrays themselves.
    parameters
        How many the kernel has.
    arrays
        What may be copied.
    steps
        Of a walk of the grid, how far apart the elements of a thread are and where it ends
        (`weft.transform.groups.grid_walks`).
    """
    updating = _plain_version(entry, {})
    chosen = Function(f"{entry.name}.copies", entry.fn_type, tuple(a.name for a in entry.args))
    module.add_function(chosen).attributes = ENTRY_ATTRIBUTES
    for function in (entry, updating):
        function.linkage.linkage = "internal"
    _build_choice(module, chosen, entry, updating, parameters, arrays, steps)
    return chosen


def _plain_version(function: Function, made: ValueMap) -> Function:
    """A copy of a function, and of what it calls, that updates elements by plain instructions."""
    for callee in dict.fromkeys(i.callee for i in function.instructions() if i.op == "call"):
        if isinstance(callee, Function) and callee not in made and not callee.is_declaration:
            _plain_version(callee, made)
    marked = any(goes_to_copy(i) for i in function.instructions())
    calls = any(i.op == "call" and i.callee in made for i in function.instructions())
    if not marked and not calls:
        return function
    copy = clone_function(function, f"{function.name}.plain", dict(made))
    made[function] = copy
    for update in [i for i in copy.instructions() if goes_to_copy(i)]:
        builder = Builder(before=update)
        builder.loc = update.loc
        replace_and_erase(update, build_plain_update(builder, update, *update.operands))
    return copy


def _build_choice(
    module: Module,
    function: Function,
    entry: Function,
    updating: Function,
    parameters: int,
    arrays: Sequence[UpdatedArray],
    steps: Function | None,
) -> None:
    launch, begin, end, worker = function.args
    builder = Builder(function.add_block("entry"))
    result = variable(function, I32)
    threads = builder.binary("sub", end, begin)
    for dimension in range(3):
        along = _field(builder, launch, BLOCK + 8 * dimension)
        threads = builder.binary("mul", threads, along)
    args = builder.load(PTR, builder.gep(I8, launch, (const_int(ARGS),)), align=8)
    rounds = _rounds(builder, launch, args, parameters, steps)
    pays: Value = TRUE
    sizes: list[Value] = []
    needed: Value = const_int(0)
    for array in arrays:
        size, fits = _bytes(builder, array, args)
        sizes.append(size)
        pays = fits if pays is TRUE else builder.binary("and", pays, fits)
        number = builder.binary("udiv", size, const_int(array.size))
        number = builder.binary("udiv", number, _updates(builder, args, array, parameters, rounds))
        needed = builder.binary("add", needed, number)
    # An element of a copy takes as long as a locked instruction, or half of that where two go back together.
    pays = builder.binary("and", pays, builder.icmp("ule", needed, threads))
    with two_arms(builder, function, pays) as otherwise:
        spaces = [
            builder.binary("and", builder.binary("add", size, const_int(2 * _LINE - 1)), const_int(-_LINE))
            for size in sizes
        ]
        whole: Value = spaces[0]
        for space in spaces[1:]:
            whole = builder.binary("add", whole, space)
        allocate = module.declare("malloc", FunctionType(PTR, (I64,)), ("nounwind",))
        memory = builder.call(allocate, (whole,))
        there = builder.icmp("ne", memory, ConstNull(PTR))
        with two_arms(builder, function, there) as without_memory:
            copies: list[Value] = []
            place: Value = memory
            for space in spaces:
                copies.append(place)
                place = builder.gep(I8, place, (space,))
            for array, copy, size in zip(arrays, copies, sizes, strict=True):
                with _each(builder, function, array, size, "fill") as index:
                    builder.store(_neutral(array), builder.gep(array.type, copy, (index,)))
            own = _own_record(builder, function, launch, args, parameters, arrays, copies)
            builder.store(builder.call(updating, (own, begin, end, worker)), result)
            for array, copy, size in zip(arrays, copies, sizes, strict=True):
                whole = builder.load(PTR, _slot(builder, args, array.number), align=8)
                number = builder.binary("udiv", size, const_int(array.size))
                merge(builder, function, array, whole, copy, number)
            builder.call(module.declare("free", FunctionType(VOID, (PTR,)), ("nounwind",)), (memory,))
            without_memory()
            builder.store(builder.call(entry, (launch, begin, end, worker)), result)
        otherwise()
        builder.store(builder.call(entry, (launch, begin, end, worker)), result)
    builder.ret(builder.load(I32, result))


def _updates(builder: Builder, args: Value, array: UpdatedArray, parameters: int, rounds: Value) -> Value:
    """How many elements of an array a thread updates, as far as that is known; one or more."""
    most: Value = const_int(1)
    greater, smaller = (builder.module.declare(f"llvm.{which}.i64", _CHOICE) for which in ("smax", "smin"))

    def bounded(value: Value, last: int) -> Value:
        return builder.call(smaller, (builder.call(greater, (value, const_int(1))), const_int(last)))

    for count in array.counts:
        # Sizes of the launch are parameters behind those of the kernel, which have no slots.
        known = [bound for bound in count.bounds if bound[0] < parameters]
        number: Value = const_int(min(max(count.times, 1), _MOST_ROUNDS))
        for index, type in known:
            value = load_argument(builder, args, index, type)
            if type.bits != I64.bits:
                value = builder.cast("sext" if type.bits < I64.bits else "trunc", value, I64)
            number = bounded(builder.binary("mul", number, bounded(value, _MOST_ROUNDS)), _MOST_UPDATES)
        if count.repeated or len(known) < len(count.bounds):
            number = builder.binary("mul", number, bounded(rounds, _MOST_ROUNDS))
        most = builder.call(greater, (most, number))
    return most


def _rounds(builder: Builder, launch: Value, args: Value, parameters: int, steps: Function | None) -> Value:
    """How often the loop of a thread runs, as far as that is known; this many times or more."""
    least = const_int(_ROUNDS)
    if steps is None or not all(map(_may_run_here, steps.instructions())):
        return least
    # A thread's position and that of its group, which are those of the first one, and extents of groups and grid.
    ids = [const_int(0)] * 6 + [_field(builder, launch, at + 8 * d) for at in (BLOCK, GRID) for d in range(3)]
    own = [load_argument(builder, args, i, a.type) for i, a in enumerate(steps.args[:parameters])]
    rest = [zero_of(a.type) for a in steps.args[parameters + len(ids) :]]
    pair = builder.call(steps, (*own, *ids, *rest))
    step, end = (builder.extract_value(pair, (i,)) for i in range(2))
    greater = builder.module.declare("llvm.smax.i64", _CHOICE)
    step = builder.call(greater, (step, const_int(1)))
    return builder.call(greater, (builder.binary("sdiv", end, step), least))


def _may_run_here(instruction: Instruction) -> bool:
    """Whether an instruction for a row of groups may run for another: it neither reads memory nor traps."""
    name = instruction.callee_name or ""
    return instruction.is_terminator or name.startswith(_EXTREMA) or is_speculatable(instruction)


def _neutral(array: UpdatedArray) -> Value:
    """What changes no element."""
    return neutral_value(OF_ATOMIC[array.kind], array.type)


def _field(builder: Builder, record: Value, offset: int) -> Value:
    return builder.load(I64, builder.gep(I8, record, (const_int(offset),)), align=8)


def _slot(builder: Builder, args: Value, number: int) -> Value:
    return builder.gep(I64, args, (const_int(number),))


def _bytes(builder: Builder, array: UpdatedArray, args: Value) -> tuple[Value, Value]:
    """How many bytes of an array are updated, and whether these are few and known."""
    extent = array.extent
    most = const_int(LARGEST)
    if not extent.shape:
        return const_int(extent.size), builder.icmp("ule", const_int(extent.size), most)
    size: Value = const_int(extent.size)
    fits: Value = builder.icmp("ne", size, const_int(0))
    for k, number in enumerate(extent.shape):
        length = builder.load(I64, _slot(builder, args, number), align=8)
        # Neither factor is beyond a million, so that no product wraps around.
        fits = builder.binary("and", fits, builder.icmp("ule", length, most))
        if extent.strides:
            stride = builder.load(I64, _slot(builder, args, extent.strides[k]), align=8)
            fits = builder.binary("and", fits, builder.icmp("ule", stride, most))
            fits = builder.binary("and", fits, builder.icmp("ne", length, const_int(0)))
            behind = builder.binary("mul", builder.binary("sub", length, const_int(1)), stride)
            size = builder.binary("add", size, behind)
        else:
            size = builder.binary("mul", size, length)
        fits = builder.binary("and", fits, builder.icmp("ule", size, most))
    if extent.strides or extent.size < array.size:
        fits = builder.binary("and", fits, builder.icmp("ne", size, const_int(0)))
        rest = builder.binary("and", size, const_int(array.size - 1))
        fits = builder.binary("and", fits, builder.icmp("eq", rest, const_int(0)))
    return size, fits


@contextmanager
def _each(
    builder: Builder, function: Function, array: UpdatedArray, size: Value, name: str
) -> Iterator[Value]:
    number = builder.binary("udiv", size, const_int(array.size))
    with counted_loop(builder, function, const_int(0), number, name) as index:
        yield index


def _own_record(
    builder: Builder,
    function: Function,
    launch: Value,
    args: Value,
    parameters: int,
    arrays: Sequence[UpdatedArray],
    copies: Sequence[Value],
) -> Value:
    """A launch record whose parameters lead to the copies."""
    words = RECORD.size // 8
    record = variable(function, ArrayType(I64, words))
    slots = variable(function, ArrayType(I64, parameters))
    for word in range(words):
        builder.store(_field(builder, launch, 8 * word), _slot(builder, record, word), align=8)
    for number in range(parameters):
        value = builder.load(I64, _slot(builder, args, number), align=8)
        builder.store(value, _slot(builder, slots, number), align=8)
    for array, copy in zip(arrays, copies, strict=True):
        builder.store(copy, _slot(builder, slots, array.number), align=8)
    builder.store(slots, builder.gep(I8, record, (const_int(ARGS),)), align=8)
    return record
