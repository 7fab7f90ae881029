"""What is alike in all iterations of a loop: values, and which blocks run.

A value inside the loop is *alike* when each iteration computes the same one, or the same sequence of them where an
inner loop computes it several times: it comes from outside, or is computed from what is alike, and so are the branches
that decide which of several values it is. What the loop itself carries, what is loaded, and results of calls that are
no intrinsics may be different.

Where triangles are given (`weft.analysis.loops.triangles`), values in them are alike if they are so in what two
iterations have in common of them. Behind a triangle nothing of it is.

A block runs *in each* iteration when nothing but loops inside whose numbers of iterations are alike, is between it and
the begin of the iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.triangles import Shared, Triangle
from weft.graph.control_dependence import control_dependence
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_read, may_write


class LoopAgreement:
    """Values and blocks of `loop`, a loop of the function that `view` shows, and of some triangles in it."""

    __slots__ = ("_blocks", "_differing", "_exits", "_header", "_inner", "_on", "_triangles", "_view")

    def __init__(self, view: CFGView, loop: CountedLoop, triangles: Sequence[Triangle] = ()) -> None:
        self._view = view
        self._triangles = [(frozenset(t.inner.blocks), t) for t in triangles]
        self._exits = {view.index[t.inner.exiting] for t in triangles}
        self._header = view.index[loop.header]
        self._blocks = frozenset(view.numbers(loop.blocks))
        on = control_dependence(view.cfg).on
        # That the iteration runs at all is given.
        self._on = {b: [c for c in on[b] if c in self._blocks and c != self._header] for b in self._blocks}
        self._inner = [
            inner
            for inner in loop_forest(view.cfg).loops
            if inner.blocks < self._blocks and inner.header != self._header
        ]
        self._differing = self._find_differing(loop)

    def is_alike(self, value: Value) -> bool:
        """Whether a value is, or its sequence in an iteration."""
        return value not in self._differing

    def runs_in_each(self, instruction: Instruction) -> bool:
        """Whether an instruction of the loop runs in each iteration, and equally often."""
        assert instruction.block is not None
        number = self._view.index[instruction.block]
        return all(
            self._decides_alike(branch)
            and any(
                number in inner.blocks and any(branch == exiting for exiting, _ in inner.exit_edges)
                for inner in self._inner
            )
            for branch in self._deciders(number)
        )

    def runs_in_a_triangle(self, instruction: Instruction) -> bool:
        """Whether an instruction runs in each iteration of one triangle at most, and else as in `runs_in_each`."""
        assert instruction.block is not None
        around = self._deciders(self._view.index[instruction.block]) & self._exits
        return len(around) == 1 and self.runs_in_each(instruction)

    def run_together(self, a: Instruction, b: Instruction) -> bool:
        """Whether the same branches decide whether two instructions run."""
        assert a.block is not None and b.block is not None
        return self._deciders(self._view.index[a.block]) == self._deciders(self._view.index[b.block])

    def _deciders(self, block: int) -> set[int]:
        """The blocks of the loop whose branches decide, one after the other, whether `block` runs."""
        found: set[int] = set()
        work = [block]
        while work:
            for branch in self._on[work.pop()]:
                if branch not in found:
                    found.add(branch)
                    work.append(branch)
        return found

    def _decides_alike(self, branch: int) -> bool:
        if branch in self._exits:
            return True
        terminator = self._view.blocks[branch].terminator
        return terminator.op in ("br", "switch") and not any(map(self._is_differing, terminator.operands))

    def _is_differing(self, value: Value) -> bool:
        return value in self._differing

    def _find_differing(self, loop: CountedLoop) -> set[Value]:
        differing: set[Value] = set(loop.header.phis())
        self._differing = differing
        counters = {t.inner.counter.phi for _, t in self._triangles if t.shared is Shared.END}
        for _, triangle in self._triangles:
            if triangle.shared is Shared.END:
                differing.update(phi for phi in triangle.inner.header.phis() if phi not in counters)
        instructions = [i for block in loop.blocks for i in block.instructions]
        deciders = {block: self._deciders(self._view.index[block]) for block in loop.blocks}
        changed = True
        while changed:
            before = len(differing)
            for instruction in instructions:
                if instruction in differing or instruction in counters:
                    continue
                if self._may_differ(instruction, deciders):
                    differing.add(instruction)
            changed = len(differing) > before
        return differing

    def _may_differ(self, instruction: Instruction, deciders: dict[BasicBlock, set[int]]) -> bool:
        if any(map(self._is_differing, instruction.operands)) or self._leaves_triangle(instruction):
            return True
        if instruction.is_phi:
            sources = [source for _, source in instruction.incoming()]
            branches = {
                self._view.index[source] for source in sources if len(source.terminator.successors) > 1
            }
            branches = branches.union(*(deciders[source] for source in sources if source in deciders))
            return not all(
                self._decides_alike(branch) for branch in branches if branch in self._blocks - {self._header}
            )
        if instruction.op == "call" and not (instruction.callee_name or "").startswith("llvm."):
            return True
        return instruction.op == "alloca" or may_read(instruction) or may_write(instruction)

    def _leaves_triangle(self, instruction: Instruction) -> bool:
        """Whether an instruction behind a triangle takes a value out of it."""
        return any(
            isinstance(value, Instruction) and value.block in blocks and instruction.block not in blocks
            for blocks, _ in self._triangles
            for value in instruction.operands
        )
