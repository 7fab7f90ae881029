"""Static arrays in shared memory as values: each is a chunk of elements, one in each lane.

What threads load is taken from the lanes of chunks, and what they store changes lanes of chunks. Which elements these
are is known for each thread.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.memory.alias import locate
from weft.ir import FALSE, TRUE, Builder, ConstInt, Function, Instruction, Value
from weft.ir.constants import Constant
from weft.ir.intrinsics import SHARED_ATTRIBUTE, declare
from weft.ir.types import I8, I32, I64, FloatType, IntType, Type, int_type
from weft.transform.groups.folded_numbers import Known, signed
from weft.transform.groups.lane_tables import LaneTables
from weft.transform.groups.work_items import WorkItems, shared_layout

_BITS = (32, 64)


class NotKnown(Exception):
    """It is not known which elements threads access."""


class SharedArray:
    """A static object in shared memory, by chunks of its elements."""

    def __init__(self, begin: int, size: int) -> None:
        self.begin, self.size = begin, size
        self.type: Type | None = None
        self.chunks: dict[int, Value] = {}
        self.changed: set[int] = set()

    @property
    def bytes(self) -> int:
        """Of an element."""
        assert isinstance(self.type, (IntType, FloatType))
        return self.type.bits // 8


class RegisterArrays:
    """The static arrays of a kernel.

    Parameters
    ----------
    builder
        Where accesses are written.
    tables
        Writes numbers of lanes.
    """

    def __init__(self, function: Function, builder: Builder, tables: LaneTables) -> None:
        self.function, self.builder, self.tables, self.lanes = function, builder, tables, tables.lanes
        self.shared = WorkItems.of(function).shared
        self.arrays = [SharedArray(begin, size) for begin, size in zip(*_objects(function), strict=True)]
        self._of_lanes: dict[tuple[Value, Value], Value] = {}

    def store_changed(self) -> None:
        """Store what has changed."""
        for array in self.arrays:
            for chunk in sorted(array.changed):
                self.builder.store(array.chunks[chunk], self._place(array, chunk), align=array.bytes)

    def elements(
        self, access: Instruction, active: tuple[int, ...], number: Callable[[Value], Known]
    ) -> tuple[SharedArray, list[int | None]]:
        """The array, and which element each active thread accesses; `number` says what indices are."""
        type = access.accessed_type
        there = locate(access.pointer, self.function.layout)
        if there.base is not self.shared or not isinstance(type, (IntType, FloatType)):
            raise NotKnown
        if type.bits not in _BITS:
            raise NotKnown
        places = [there.offset] * len(active)
        for index, scale in there.terms.items():
            value = number(index)
            assert isinstance(index.type, IntType)
            bits = index.type.bits
            numbers = (value,) * len(active) if isinstance(value, int) else value
            places = [p + scale * signed(n, bits) for p, n in zip(places, numbers, strict=True)]
        used = [place for place, on in zip(places, active, strict=True) if on]
        array = next((a for a in self.arrays if a.begin <= used[0] < a.begin + a.size), None)
        if array is None or (array.type or type) != type:
            raise NotKnown
        array.type = type
        step, end = array.bytes, array.begin + array.size
        if array.size % (step * self.lanes) or any(
            not array.begin <= place < end or (place - array.begin) % step for place in used
        ):
            raise NotKnown
        on = zip(places, active, strict=True)
        return array, [(place - array.begin) // step if there else None for place, there in on]

    def _chunk(self, array: SharedArray, chunk: int) -> Value:
        """A chunk of the elements of an array, as they are now."""
        if chunk not in array.chunks:
            assert array.type is not None
            array.chunks[chunk] = self.builder.load(array.type, self._place(array, chunk), align=array.bytes)
        return array.chunks[chunk]

    def _place(self, array: SharedArray, chunk: int) -> Value:
        builder, step = self.builder, array.bytes
        begin = array.begin + chunk * self.lanes * step
        base = builder.gep(I8, self.shared, (ConstInt(I64, begin),))
        lane = builder.cast("zext", self.tables.lane, I64)
        return builder.gep(I8, base, (builder.binary("mul", lane, ConstInt(I64, step)),))

    def gathered(self, array: SharedArray, elements: list[int | None]) -> Value:
        """What the lanes take of an array."""
        result: Value | None = None
        for chunk in sorted({e // self.lanes for e in elements if e is not None}):
            table = [e % self.lanes if e is not None and e // self.lanes == chunk else None for e in elements]
            moved = self.moved(self._chunk(array, chunk), table)
            if result is not None:
                mask = [None if e is None else int(e // self.lanes == chunk) for e in elements]
                moved = self.builder.select(self.tables.mask(mask), moved, result)
            result = moved
        assert result is not None
        return result

    def scatter(
        self, array: SharedArray, elements: list[int | None], value: Callable[[int], Value],
        masks: dict[int, Value] | None,
    ) -> None:  # fmt: skip
        """Store in an array what chunks of threads have, where masks of theirs say so."""
        writers: dict[int, int] = {}
        for thread, element in enumerate(elements):
            if element is not None and writers.setdefault(element, thread) != thread:
                raise NotKnown
        assert array.type is not None
        for chunk in sorted({e // self.lanes for e in writers}):
            first = chunk * self.lanes
            threads = [writers.get(element) for element in range(first, first + self.lanes)]
            whole = masks is None and None not in threads
            result: Value | None = None if whole else self._chunk(array, chunk)
            for source in sorted({t // self.lanes for t in threads if t is not None}):
                here = [t is not None and t // self.lanes == source for t in threads]
                pairs = list(zip(threads, here, strict=True))
                table = [t % self.lanes if t is not None and is_here else None for t, is_here in pairs]
                moved = self.moved(value(source), table)
                if result is not None:
                    stored = self.tables.mask([int(is_here) for is_here in here], hidden=True)
                    if masks is not None:
                        there = self.moved(masks[source], table)
                        stored = there if stored == TRUE else self.builder.select(stored, there, FALSE)
                    moved = self.builder.select(stored, moved, result)
                result = moved
            assert result is not None
            array.chunks[chunk] = result
            array.changed.add(chunk)

    def moved(self, value: Value, table: list[int | None]) -> Value:
        """The value, each lane's from the lane that the table names."""
        lane = self.tables.source(table)
        if lane is None or isinstance(value, Constant):
            return value
        if (value, lane) not in self._of_lanes:
            self._of_lanes[value, lane] = self._of_lane(value, lane)
        return self._of_lanes[value, lane]

    def _of_lane(self, value: Value, lane: Value) -> Value:
        builder, type = self.builder, value.type
        assert isinstance(type, (IntType, FloatType))
        if type.bits == 1:
            word = builder.cast("zext", value, I32)
            moved = builder.call(declare(builder.module, "weft.extract.i32"), (word, lane))
            return builder.icmp("ne", moved, ConstInt(I32, 0))
        bits = int_type(type.bits)
        number = value if type == bits else builder.cast("bitcast", value, bits)
        moved = builder.call(declare(builder.module, f"weft.extract.i{type.bits}"), (number, lane))
        return moved if type == bits else builder.cast("bitcast", moved, type)


def _objects(function: Function) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where the static objects in shared memory begin, and their sizes."""
    text = function.attribute(SHARED_ATTRIBUTE) or ""
    sizes = tuple(int(item.split(":")[0]) for item in text.split(",") if item)
    return shared_layout(function)[0], sizes
