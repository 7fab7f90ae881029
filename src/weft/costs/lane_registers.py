"""Registers that a lane group takes, and cycles for those that there are not, by how many threads it has."""

from __future__ import annotations

from collections.abc import Container, Iterable, Set

from weft.analysis.divergence import Divergence
from weft.analysis.loops.along_rows import changes_in
from weft.costs.constants import constants_of
from weft.graph.loops import Loop
from weft.ir import Instruction, Value
from weft.ir.effects import may_write
from weft.ir.types import I1
from weft.machine.targets import Isa


class LaneRegisters:
    """Estimates for one kernel.

    Parameters
    ----------
    divergence
        Of the kernel, in lane groups of any width.
    isa
        The machine.
    in_vectors
        What is done for each thread.
    """

    __slots__ = (
        "_constants", "_divergence", "_in_vectors", "_isa", "_layout", "_live", "_loops", "_most_bits_outside", "_view",
    )  # fmt: skip

    def __init__(self, divergence: Divergence, isa: Isa, in_vectors: Set[Instruction]) -> None:
        self._divergence = divergence
        self._isa = isa
        self._constants = constants_of(isa)
        self._view, self._loops = divergence.facts.probability.view, divergence.facts.probability.loops
        self._layout = divergence.function.layout
        self._live = divergence.facts.liveness
        self._in_vectors = in_vectors
        self._most_bits_outside = self._count_bits_outside()

    def is_crowded(self, width: int) -> bool:
        """Whether, outside of loops, more than twice as many registers are in use at some place as there are."""
        return self._most_bits_outside * width > 2 * self._isa.vector_registers * self._isa.vector_bits

    def lacking_outside(self, width: int) -> float:
        """Cycles for what is in registers where most is, outside of loops."""
        return self._lacking(self._most_bits_outside, width)

    def spills(
        self, loop: Loop, width: int, divergent: bool, left_behind: int, copied: Container[Value] = ()
    ) -> float:
        """Cycles for values that live through a loop, or are carried, and have no register.

        Parameters
        ----------
        loop, width
            Of a lane group of so many threads.
        divergent
            Whether threads leave it one by one.
        left_behind
            Bits of what is kept for those that have left.
        copied
            What rows that are copied were read by.
        """
        header, before = self._view.blocks[loop.header], self._loaded_before(loop)
        # Behind where threads leave one by one there is what they have, and what the others will need to go on.
        inside = (
            {self._view.blocks[n] for n in loop.blocks}
            if divergent and self._only_computes(loop)
            else {header}
        )
        bits = 0
        for block in inside:
            live: set[Value] = {*self._live.live_in[block], *before}
            if block is header:
                live.update(header.phis())
            vectors = (
                v for v in live if isinstance(v, Instruction) and v in self._in_vectors and v not in copied
            )
            bits = max(bits, self._bits_of(vectors))
        if not self._isa.mask_registers:
            # The mask of the threads which are in the loop is a vector as well.
            bits += 32 * divergent
        return self._lacking(bits + left_behind, width)

    def _only_computes(self, loop: Loop) -> bool:
        """Whether a loop holds no other one and accesses no memory.

        Others wait for what they access, beside which what is spilled comes back. Measured with AVX2 on Zen 3: Julia
        sets in doubles take 2.7 ms in 8 lanes and 3.5 to 4.6 in 16, medians by insertion 0.78 in 16 and 0.64 in 32.
        """
        instructions = (i for n in loop.blocks for i in self._view.blocks[n].instructions)
        return not loop.children and not any(i.op in ("load", "store") for i in instructions)

    def _loaded_before(self, loop: Loop) -> list[Instruction]:
        """Loads that give the same in all iterations, as nothing is written in the loop: LLVM makes them before it."""
        inside = {self._view.blocks[n] for n in loop.blocks}
        instructions = [i for block in inside for i in block.instructions]
        if any(may_write(i) for i in instructions):
            return []
        return [i for i in instructions if i.op == "load" and not changes_in(i.pointer, inside)]

    def _bits_of(self, vectors: Iterable[Instruction]) -> int:
        """Bits of each thread in registers that hold these values."""
        mask = 0 if self._isa.mask_registers else 32
        return sum(mask if v.type == I1 else 8 * self._layout.size(v.type) for v in vectors)

    def _lacking(self, bits: int, width: int) -> float:
        """Cycles for registers that there are not, where each thread has so many bits in them."""
        used = bits * width / self._isa.vector_bits
        lacking = used + self._constants.spare_registers - self._isa.vector_registers
        return self._constants.spill * max(0.0, lacking)

    def _count_bits_outside(self) -> int:
        """The most bits of each thread that are in registers at some place outside of loops.

        Of boxes none are counted: their lanes share what they load, and nobody has measured how long that is kept.
        """
        most = 0
        if len(self._divergence.engine.threads.domain.extents) > 1:
            return most
        for number, block in enumerate(self._view.blocks):
            if self._loops.innermost[number] is not None:
                continue
            live = {
                v for v in self._live.live_out[block] if isinstance(v, Instruction) and v in self._in_vectors
            }
            bits = self._bits_of(live)
            most = max(most, bits)
            for instruction in reversed(block.instructions):
                if instruction in live:
                    live.remove(instruction)
                    bits -= self._bits_of((instruction,))
                if instruction.is_phi:
                    continue
                for value in instruction.used_values():
                    if isinstance(value, Instruction) and value not in live and value in self._in_vectors:
                        live.add(value)
                        bits += self._bits_of((value,))
                most = max(most, bits)
        return most
