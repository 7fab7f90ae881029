"""The settled schedule on random programs: of the blocks that threads wait for, that of least compact index runs next,
so a loop runs until no thread is in it."""

import numpy as np
import pytest

from generators.programs import INPUT_BYTES, SLICE_BYTES, Options, random_program
from transform.chain import canonical
from weft.graph.block_index import block_index
from weft.graph.loops import loop_forest
from weft.interp import Memory, Program, run_function
from weft.ir import BasicBlock, Function
from weft.ir.cfg_view import cfg_of
from weft.ir.writer import write_module

WIDTH = 8


class Schedule:
    """The numbers of the kernel's blocks as they run, and the threads that run each."""

    def __init__(self, function: Function) -> None:
        self.number = {b.name: i for i, b in enumerate(function.blocks)}
        self.blocks: list[int] = []
        self.threads: list[np.ndarray] = []

    def on_block(self, machine, block: BasicBlock, active) -> None:
        self.blocks.append(self.number[block.name])
        self.threads.append(active.mask(machine.lanes).copy())


def schedule_of(seed: int) -> tuple[Function, Schedule]:
    options = Options(blocks=5 + seed % 9, statements=2, calls=False, horizontal=seed % 2 == 0)
    # With one latch a loop, as every pass has it: threads meet there.
    module = canonical(write_module(random_program(seed, options), plain=True))
    function = module.functions["kernel"]
    rng = np.random.default_rng(seed)
    memory = Memory()
    given = memory.map_array(rng.integers(0, rng.choice((2, 5, 256)), INPUT_BYTES, dtype=np.uint8))
    out = memory.map_array(np.zeros(WIDTH * SLICE_BYTES, np.uint8))
    hook = Schedule(function)
    arguments = [given, out, int(rng.integers(-5, 40)), int(rng.integers(0, 1 << 33))]
    run_function(Program(module), "kernel", arguments, WIDTH, memory=memory, hooks=[hook], step_limit=20_000)
    return function, hook


@pytest.mark.parametrize("seed", range(40))
def test_the_waiting_block_of_least_index_runs_next(seed: int) -> None:
    function, hook = schedule_of(seed)
    order = block_index(cfg_of(function).cfg).order
    index = {block: place for place, block in enumerate(order)}
    waits: dict[int, int] = {}
    for step, (block, threads) in enumerate(zip(hook.blocks, hook.threads, strict=True)):
        for thread in np.flatnonzero(threads):
            waits[int(thread)] = step
        # The block each thread runs next was pending since the step where it last ran.
        for thread, last in waits.items():
            later = next((s for s in range(step + 1, len(hook.blocks)) if hook.threads[s][thread]), None)
            if last < step and later is not None:
                assert index[hook.blocks[later]] >= index[block], f"thread {thread} waited at step {step}"


@pytest.mark.parametrize("seed", range(40))
def test_a_loop_runs_until_no_thread_is_in_it(seed: int) -> None:
    function, hook = schedule_of(seed)
    for loop in loop_forest(cfg_of(function).cfg).loops:
        inside = set(loop.blocks)
        for step in range(1, len(hook.blocks)):
            if hook.blocks[step] in inside and hook.blocks[step - 1] not in inside:
                assert hook.blocks[step] == loop.header
