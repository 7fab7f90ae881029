"""Threads whose flat number is divided into coordinates: their columns, rows and planes as positions.

``x = i % w; y = i // w % h; z = i // (h * w)`` takes the number of a thread apart. Neighbours of a flat number are
neighbours along x alone, so that a kernel which exchanges axes scatters. With positions for the number,

    i = (z·h + y)·w + x,   0 <= x < w,   0 <= y < h

its threads are those of a grid of three dimensions, of which boxes may run (`weft.codegen.order.divided_rows`). Each
division is replaced by what it gives: ``i // w`` is z·h + y, ``i // (h·w)`` is z, ``i % (h·w)`` is y·w + x, and so on;
quotients by multiples of h·w are quotients of z. Without h there are no planes: ``i // w`` is the row. Where z
is divided again, as in batches, planes are those of a stack for boxes along planes, and y counts the rows of stacks
below, too: ``i = ((y // h · depth + z)·h + y % h)·w + x``.

What has to hold of the divisors is asked before a row of threads runs, by ``<kernel>.extents``: that w and h are at
least two and below 2³¹, that what divides the number like h·w is that product, that what the source language has around
its divisions for divisors that are zero or negative comes out as for others, and that indices do not count from the
end, nor wrap around in 32 bits. It returns w and h, or 0 for w where a row of threads is to run as it is.

Precondition: threads have one position (`weft.transform.groups.merge_groups`), guards are bounds of rows.
Postcondition: the position along the dimension is x, those along the two others are y and z. Preserves the program
under FR and OBL.
"""

from __future__ import annotations

from weft.ir import ConstFloat, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.types import F64, I1, I64
from weft.transform.groups.id_coordinates import Splitting
from weft.transform.groups.id_divisors import LARGEST, Divisors, settle_least
from weft.transform.groups.row_values import RowValues
from weft.transform.groups.work_items import WorkItems

_FAR = float(1 << 62)
"""Indices that are less, as far as can be told, do not wrap."""

_NEAR = float((1 << 31) - (1 << 10))
"""Those of 32 bits that are less do not, in floats of which each operation is off by 2⁻⁵³ of the result at most."""

_ZERO, _ONE = ConstInt(I64, 0), ConstInt(I64, 1)


def other_dimensions(dimension: int) -> tuple[int, int]:
    """Along which dimensions the positions of rows and planes are."""
    across, third = (d for d in range(3) if d != dimension)
    return across, third


def split_numbers(module: Module, kernel: Function, dimension: int, across: int) -> Function | None:
    """Let `kernel` be for threads at columns, rows and planes; the function that says how many there are.

    Boxes are along `dimension` and `across`, one of the `other_dimensions`. None where its flat numbers are not
    divided so; `kernel` may then have been changed.
    """
    items = WorkItems.of(kernel)
    others = other_dimensions(dimension)
    if any(items.tid[d].is_used or items.gid[d].is_used for d in others) or items.gid[dimension].is_used:
        return None
    settle_least(items.tid[dimension])
    values = RowValues(module, kernel, items.tid[dimension], "extents", numbers=3, keeps_flags=False)
    uniform = {i for i in kernel.instructions() if values.is_uniform(i)}
    found = Divisors.of(items.tid[dimension], uniform)
    if found is None:
        return None
    splitting = Splitting(
        kernel,
        found,
        uniform,
        items.tid[dimension],
        [items.tid[d] for d in others],
        by_planes=across == others[1],
    )
    splitting.run()
    asked = (
        *(found.columns, found.rows, found.plane, found.depth, found.stack),
        *(v for v, _ in (*splitting.required, *splitting.multiples, *splitting.stacks)),
        *(*splitting.positive, *splitting.indices, *splitting.extended),
    )
    if not all(map(_is_defined, filter(None, asked))):
        return None
    extents = _extents(values, found, splitting)
    remove_dead_instructions(kernel)
    return extents


def _is_defined(value: Value) -> bool:
    """Whether the value of a thread is known wherever it is computed, once no flag says what is not so."""
    seen: set[Value] = set()
    work = [value]
    while work:
        v = work.pop()
        if not isinstance(v, Instruction) or v in seen:
            continue
        seen.add(v)
        if v.op in ("shl", "lshr", "ashr") and not isinstance(v.operands[1], ConstInt):
            return False
        work.extend(v.operands)
    return True


def _is_near(values: RowValues, splitting: Splitting, index: Value, limit: float = _FAR) -> Value:
    """Whether an index is not negative, and does not wrap, as no number that it is made of is, nor their bound does.

    Sums and products that wrap on the way count the same in the end.
    """
    builder, bounds, fits = values.builder, dict[Value, Value](), ConstInt(I1, 1)
    conditions: list[Value] = []

    def bound(value: Value) -> Value:
        most = splitting.most(value)
        if value not in bounds and most is not None:
            number = read(most.number if most.number is not None else splitting.positions)
            for part in most.parts:
                number = builder.binary("fdiv", number, read(part))
            bounds[value] = number
        return bounds[value]

    def read(value: Value) -> Value:
        number = values.copy(value)
        if number.type != I64:
            number = builder.cast("sext", number, I64)
        if not isinstance(number, ConstInt) or number.signed < 0:
            conditions.append(builder.icmp("sge", number, _ZERO))
        return builder.cast("sitofp", number, F64)

    for i in splitting.terms(index) or ():
        a, b = map(bound, i.operands)
        bounds[i] = builder.binary(f"f{i.op}", a, b)
    conditions.append(builder.fcmp("olt", bounds[index], ConstFloat.of(F64, limit)))
    for condition in conditions:
        fits = builder.binary("and", fits, condition)
    return fits


def _extents(values: RowValues, divisors: Divisors, splitting: Splitting) -> Function:
    """The function that returns the columns, or 0, the rows of a plane, and the planes of a stack."""
    builder = values.builder

    def wide(value: Value) -> Value:
        copy = values.copy(value)
        if isinstance(copy, ConstInt):
            return ConstInt(I64, copy.signed)
        return copy if copy.type == I64 else builder.cast("sext", copy, I64)

    def both(a: Value, b: Value) -> Value:
        return builder.binary("and", a, b)

    def is_moderate(number: Value) -> Value:
        below = builder.binary("sub", number, ConstInt(I64, 2))
        return builder.icmp("ult", below, ConstInt(I64, LARGEST - 2))

    columns = wide(divisors.columns)
    fits: Value = is_moderate(columns)
    some = builder.select(fits, columns, _ONE)
    rows: Value = ConstInt(I64, 1 << 40)
    depth = rows
    if divisors.has_planes:
        plane = wide(divisors.plane) if divisors.plane is not None else None
        if divisors.rows is not None:
            rows = wide(divisors.rows)
        else:
            assert plane is not None
            rows = builder.binary("udiv", plane, some)
        fits = both(fits, is_moderate(rows))
        product = builder.binary("mul", rows, columns)
        if plane is not None:
            fits = both(fits, builder.icmp("eq", plane, product))
        for multiple, of_rows in splitting.multiples:
            unit = builder.select(fits, rows if of_rows else product, _ONE)
            number = wide(multiple)
            whole = builder.icmp("eq", builder.binary("urem", number, unit), _ZERO)
            fits = both(both(fits, whole), builder.icmp("sgt", number, _ZERO))
        if splitting.in_stacks:
            if divisors.depth is not None:
                depth = wide(divisors.depth)
            else:
                assert divisors.stack is not None
                depth = builder.binary("udiv", wide(divisors.stack), builder.select(fits, product, _ONE))
            fits = both(fits, is_moderate(depth))
            for multiple, level in splitting.stacks:
                unit = builder.binary("mul", (product, rows, _ONE)[level], depth)
                unit = builder.select(fits, unit, _ONE)
                fits = both(fits, builder.icmp("eq", builder.binary("urem", wide(multiple), unit), _ZERO))
        for number in splitting.positive:
            fits = both(fits, builder.icmp("sgt", wide(number), _ZERO))
    for value, wanted in splitting.required:
        fits = both(fits, builder.icmp("eq", values.copy(value), wanted))
    for index in splitting.indices:
        fits = both(fits, _is_near(values, splitting, index))
    for index in splitting.extended:
        fits = both(fits, _is_near(values, splitting, index, _NEAR))
    return values.finish(builder.select(fits, columns, _ZERO), rows, depth)
