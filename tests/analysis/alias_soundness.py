"""Compares what the alias analysis claims with the addresses that a program accesses."""

from __future__ import annotations

import numpy as np

from generators.programs import INPUT_BYTES, SLICE_BYTES, Options, random_program
from weft.analysis.divergence import analyze_divergence
from weft.analysis.memory.alias import Alias, AliasAnalysis
from weft.interp import Memory, Program, run_function
from weft.ir import Instruction, Value
from weft.ir.layout import DataLayout


class LastAccesses:
    """A hook that compares each access of a block with those before it in the same run of the block."""

    def __init__(self, analysis: AliasAnalysis) -> None:
        self.analysis = analysis
        self.here: list[tuple[Value, int, dict[int, int]]] = []
        self.compared = 0
        self.block: object = None

    def on_block(self, machine, block, active) -> None:
        self.here.clear()

    def on_access(self, machine, instruction: Instruction, addresses, mask, kind, size) -> None:
        if instruction.op == "call" or instruction.function.name != "kernel":
            return
        pointer = instruction.operands[1 if instruction.op == "store" else 0]
        own = {lane: int(addresses[lane]) for lane in np.flatnonzero(mask)}
        for other, other_size, there in self.here:
            claim = self.analysis.alias(pointer, size, other, other_size)
            for lane in own.keys() & there.keys():
                self.compared += 1
                overlap = own[lane] < there[lane] + other_size and there[lane] < own[lane] + size
                assert claim is not Alias.NO or not overlap, f"{pointer!r} and {other!r}"
                assert claim is not Alias.MUST or own[lane] == there[lane], f"{pointer!r} and {other!r}"
        self.here.append((pointer, size, own))


def check_program(seed: int) -> int:
    """Run the program of a seed; the number of pairs compared."""
    module = random_program(seed, Options(statements=8, memory_share=0.8, stack_share=0.6))
    divergence = analyze_divergence(module.functions["kernel"], width=4)
    hook = LastAccesses(AliasAnalysis(divergence.engine.objects, DataLayout()))
    memory = Memory()
    given = np.random.default_rng(seed).integers(0, 4, INPUT_BYTES, dtype=np.uint8)
    arguments = [memory.map_array(given), memory.map_array(np.zeros(4 * SLICE_BYTES, np.uint8)), 3, 1]
    run_function(Program(module), "kernel", arguments, 4, memory=memory, hooks=(hook,), step_limit=20_000)
    return hook.compared
