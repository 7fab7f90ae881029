"""Running the program after a pass on the interpreter, in whichever form it is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from weft.check.budget import MAX_ENTRY_STEPS, Budget
from weft.check.inputs import Content, LaunchInputs, Workspace
from weft.check.lane_groups import LaneGroups, lane_groups
from weft.check.prepare import PreparedStage, run_text
from weft.check.rows import RowGroups, number_pairs, row_groups
from weft.codegen.arena import ArenaNeeds
from weft.codegen.launch_record import ERROR_WORDS, RECORD, SHARED_ALIGN
from weft.interp import Geometry, Image, Memory, launch, run_function
from weft.ir.reader import read_module
from weft.passes.stages import Form, Runnable, Stage
from weft.runtime.shape import LaunchShape
from weft.target.vector_math import MathSymbol
from weft.transform.groups.work_items import shared_layout
from weft.transform.splitting.barriers import barriers_of


class KernelFacts(Struct, frozen=True):
    """What running a stage needs to know beside its program.

    Parameters
    ----------
    arena
        Scratch memory of the entry point.
    math
        Vector math functions that the code calls, by symbol.
    shared_bytes
        Bytes of static shared memory.
    """

    arena: ArenaNeeds
    math: dict[str, MathSymbol]
    shared_bytes: int


class StageProgram(PreparedStage[KernelFacts]):
    """A stage of the passes on kernels, ready to run."""

    @functools.cached_property
    def _has_barriers(self) -> bool:
        return bool(barriers_of(self.program.function(self.stage.full.function)))

    def runnables_used(self, shape: LaunchShape) -> tuple[Runnable, ...]:
        """The functions that a launch of this shape runs."""
        stage = self.stage
        if (stage.rows is not None or stage.box is not None) and stage.partial is not None:
            return (stage.full, stage.partial)
        in_rows = shape.block[0] % stage.width == 0 if stage.partial is not None else True
        if stage.partial is None or (in_rows and stage.bounds is None):
            return (stage.full,)
        in_rows |= not stage.linear or shape.block[0] == shape.group_threads
        return (stage.full, stage.partial) if in_rows and shape.block[0] >= stage.width else (stage.partial,)

    def run(self, inputs: LaunchInputs, shape: LaunchShape) -> list[Content] | None:
        """What memory holds after a launch; None when the launch ends early or cannot be run in this form.

        Raises
        ------
        TooLong
            It takes too many steps.
        WeftError
            The program does something that has no defined meaning.
        """
        workspace = Workspace(inputs)
        done = self._runner()(workspace, inputs, shape)
        return workspace.contents() if done else None

    def _runner(self) -> Callable[[Workspace, LaunchInputs, LaunchShape], bool]:
        by_threads = self._run_lane_groups if self.stage.rows is None else self._run_rows
        return {Form.GRID: self._run_grid, Form.ENTRY: self._run_entry}.get(self.stage.full.form, by_threads)

    def _run_grid(self, workspace: Workspace, inputs: LaunchInputs, shape: LaunchShape) -> bool:
        launch(
            self.program, self.stage.full.function, workspace.slots, shape.grid, shape.block,
            memory=workspace.memory, dynamic_shared=shape.dynamic_bytes, hooks=[Budget()],
            width=self.stage.width or None,
        )  # fmt: skip
        return True

    def _run_lane_groups(self, workspace: Workspace, inputs: LaunchInputs, shape: LaunchShape) -> bool:
        used = self.runnables_used(shape)
        if self._has_barriers and len(used) > 1:
            return False
        image = Image(self.program, workspace.memory)
        budget = Budget()
        for batch in lane_groups(shape, self.stage.width, self.stage.linear, self.stage.box, self.stage.axes):
            shared = _PerGroup(workspace.memory, self.facts.shared_bytes, batch.groups)
            dynamic = _PerGroup(workspace.memory, shape.dynamic_bytes, batch.groups)
            for runnable in used:
                chosen = batch
                if len(used) > 1:
                    whole = (batch.count == batch.width) & self._passing(image, workspace, shape, batch)
                    chosen = batch.where(whole if runnable is self.stage.full else ~whole)
                if not chosen.first.size:
                    continue
                partial = runnable is self.stage.partial
                self._run_version(
                    runnable, partial, image, workspace.slots, shape, chosen, (shared, dynamic), budget
                )
            shared.free()
            dynamic.free()
        return True

    def _passing(
        self, image: Image, workspace: Workspace, shape: LaunchShape, lanes: LaneGroups
    ) -> NDArray[np.bool_]:
        """Whether all threads of each lane group pass the guards that whole lane groups do not ask."""
        count = lanes.first.size
        if self.stage.bounds is None:
            return np.ones(count, np.bool_)
        x, y, z = (p.reshape(count, -1)[:, 0] for p in lanes.positions(1))
        items = [
            np.zeros_like(x),
            y,
            z,
            lanes.block_x,
            lanes.block_y,
            lanes.block_z,
            *shape.block,
            *shape.grid,
        ]
        ends = [np.zeros_like(x), np.full_like(x, shape.block[0])]
        arguments = [*workspace.slots, *items, 0, 0, shape.dynamic_bytes, *ends]
        first, last = number_pairs(image, self.stage.bounds, arguments, count)
        return (first <= x) & (x + lanes.width <= last)

    def _run_version(
        self, runnable: Runnable, partial: bool, image: Image, slots: Sequence[Any], shape: LaunchShape,
        lanes: LaneGroups, shared: Sequence[_PerGroup], budget: Budget,
    ) -> None:  # fmt: skip
        each = 1 if runnable.form is Form.LANES else lanes.width

        def spread(values: NDArray[Any]) -> NDArray[Any]:
            return np.repeat(values, each)

        position = lanes.positions(each)
        if partial and lanes.linear:
            position = (lanes.numbers(each), *(np.zeros_like(p) for p in position[1:]))
        some = [lanes.bits if self.stage.box is not None else lanes.count] if partial else []
        work_items = [
            *position,
            *(spread(v) for v in (lanes.block_x, lanes.block_y, lanes.block_z)),
            *shape.block,
            *shape.grid,
            *(spread(memory.addresses(lanes.group)) for memory in shared),
            shape.dynamic_bytes,
        ]
        # Work-groups matter to barriers only; their lane groups stand side by side.
        count = lanes.first.size
        rows = count // lanes.groups if self._has_barriers else 1
        run_function(
            image, runnable.function, [*slots, *work_items, *map(spread, some)], each,
            semantics="OBL" if runnable.oblivious else "FR",
            hooks=[budget],
            active=None if partial or each == 1 else lanes.exists(),
            geometry=Geometry(
                (count // rows, 1, 1), (rows * each, 1, 1), 0, count // rows, each
            ),
        )  # fmt: skip

    def _run_rows(self, workspace: Workspace, inputs: LaunchInputs, shape: LaunchShape) -> bool:
        stage, rows, slots = self.stage, self.stage.rows, workspace.slots
        assert rows is not None
        image = Image(self.program, workspace.memory)
        budget = Budget()
        sizes = (self.facts.shared_bytes, shape.dynamic_bytes)
        found = row_groups(image, slots, shape, rows, stage.width)
        for batch in (batch for row in found for batch in row.batches(stage.width)):
            whole = batch.count == stage.width
            for runnable, chosen in ((stage.full, batch[whole]), (stage.partial, batch[~whole])):
                if runnable is None or not chosen.count.size:
                    continue
                groups, group = chosen.groups(shape)
                memory = [_PerGroup(workspace.memory, size, groups) for size in sizes]
                shared = [m.addresses(group) for m in memory]
                self._run_rows_of(runnable, image, slots, shape, chosen, shared, budget)
                for m in memory:
                    m.free()
        return True

    def _run_rows_of(
        self, runnable: Runnable, image: Image, slots: Sequence[Any], shape: LaunchShape, lanes: RowGroups,
        shared: Sequence[NDArray[Any]], budget: Budget,
    ) -> None:  # fmt: skip
        stage, count = self.stage, lanes.count.size
        assert stage.rows is not None
        each = 1 if runnable.form is Form.LANES else stage.width
        some = (lanes.first, lanes.count) if runnable is stage.partial else ()
        shared, some = ([np.repeat(a, each) for a in arrays] for arrays in (shared, some))
        run_function(
            image, runnable.function,
            [
                *slots, *lanes.positions(stage.rows, each), *shape.block, *shape.grid, *shared,
                shape.dynamic_bytes, *some,
            ],
            each,
            semantics="OBL" if runnable.oblivious else "FR",
            hooks=[budget],
            geometry=Geometry((count, 1, 1), (each, 1, 1), 0, count, each),
        )  # fmt: skip

    def _run_entry(self, workspace: Workspace, inputs: LaunchInputs, shape: LaunchShape) -> bool:
        memory, dynamic, needs = workspace.memory, shape.dynamic_bytes, self.facts.arena
        # Groups side by side, unless they wait for each other.
        groups = 1 if needs.resident else shape.groups
        arenas = _PerGroup(memory, needs.bytes(shape.block, dynamic, shape.groups), groups)
        table = memory.place_bytes(arenas.addresses(np.arange(groups)).tobytes(), "arenas")
        error = memory.place_bytes(bytes(8 * ERROR_WORDS), "error record")
        arguments = memory.place_bytes(workspace.packed(), "arguments")
        record = RECORD.pack(*shape.grid, *shape.block, arguments, table, dynamic, error)
        numbers = np.arange(groups)
        ends = np.array([shape.groups]) if needs.resident else numbers + 1
        outcome = run_function(
            self.program, self.stage.full.function,
            [memory.place_bytes(record, "launch record"), numbers, ends, numbers], groups,
            memory=memory, hooks=[Budget(MAX_ENTRY_STEPS)], geometry=Geometry((groups, 1, 1), (1, 1, 1), 0, groups, 1),
        )  # fmt: skip
        return not outcome.data.any()


class _PerGroup:
    """Memory of which each of several work-groups has its own part."""

    __slots__ = ("_memory", "_object")

    def __init__(self, memory: Memory, size: int, groups: int) -> None:
        self._memory = memory
        self._object = memory.allocate(size, "shared memory", align=SHARED_ALIGN, parts=groups)

    def addresses(self, group: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Where the parts of the given work-groups begin."""
        return (self._object.base + group * self._object.stride).astype(np.uint64)

    def free(self) -> None:
        self._memory.remove(self._object)


def static_shared_bytes(stage: Stage) -> int:
    """Bytes of static shared memory of the kernel of a stage."""
    return shared_layout(read_module(run_text(stage)).functions[stage.full.function])[1]
