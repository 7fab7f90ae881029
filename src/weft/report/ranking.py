"""What costs most because lanes differ: an estimate of cycles for each place, by the cost tables of `weft.machine`.

Each loop around a place counts as ten rounds. A divergent branch costs the work done for lanes that have no part in
it: half the lanes of each block that runs for some lanes only. A divergent loop costs half its body a round, for the
lanes that wait for the slowest. The estimate ranks; it predicts no times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from weft.analysis.divergence import Divergence
from weft.costs.instructions import MATH_CALL, instruction_cost, memory_cost
from weft.ir import BasicBlock, Instruction
from weft.ir.intrinsics import kind_of
from weft.ir.types import VOID
from weft.ir.work_item_names import meaning_of
from weft.machine.targets import Isa
from weft.machine.vecmath import LIBRARIES
from weft.report.explanation import explain_activation, explain_branch, explain_value
from weft.report.facts import ACCESSES, access_form, has_choice, loops_of
from weft.report.model import AccessForm, Finding, FindingKind
from weft.report.source_map import SourceMap, block_line

ROUNDS = 10
"""How often a loop is taken to run."""
MASK_CYCLES = 2.0
"""Computing the masks of a branch's arms."""
EXPLAINED = 20
"""Of so many findings, the dearest, the causes are looked for."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A finding, and how to explain it."""

    finding: Finding
    explain: Callable[[], tuple[str, ...]]


class Ranking:
    """Finds what costs, for one function."""

    __slots__ = ("_divergence", "_isa", "_lanes", "_source")

    def __init__(self, divergence: Divergence, source: SourceMap, lanes: int, isa: Isa) -> None:
        self._divergence = divergence
        self._source = source
        self._lanes = lanes
        self._isa = isa

    def findings(self) -> tuple[Finding, ...]:
        """Everything that costs, the dearest first; equal costs in the order of the program."""
        found = [*self._accesses(), *self._loops(), *self._branches(), *self._calls()]
        found.sort(key=lambda candidate: -candidate.finding.cycles)
        explained = [replace(c.finding, because=c.explain()) for c in found[:EXPLAINED]]
        return (*explained, *(c.finding for c in found[EXPLAINED:]))

    def _weight(self, block: BasicBlock) -> int:
        """How often a block is taken to run."""
        engine = self._divergence.engine
        return ROUNDS ** engine.control.propagation.loops.depth(engine.blocks[block])

    def _accesses(self) -> Iterator[_Candidate]:
        for block in self._divergence.function.blocks:
            for instruction in block.instructions:
                if instruction.op in ACCESSES:
                    candidate = self._access(block, instruction)
                    if candidate is not None:
                        yield candidate

    def _access(self, block: BasicBlock, access: Instruction) -> _Candidate | None:
        form, stride = access_form(self._divergence, access)
        bits = 8 * self._divergence.engine.layout.size(access.accessed_type)
        if access.op in ("atomicrmw", "cmpxchg"):
            kind, cycles = FindingKind.ATOMIC, self._cycles(access.op, bits, self._lanes)
            text = "atomics of the lanes run one after the other"
            if form is AccessForm.UNIFORM:
                text += ", all at one address"
        elif form in (AccessForm.UNIFORM, AccessForm.CONTIGUOUS, AccessForm.PRIVATE):
            return None
        else:
            dear = memory_cost(access.op, form.value, bits, self._lanes, self._isa)
            cheap = memory_cost(access.op, "contiguous", bits, self._lanes, self._isa)
            cycles = dear.cycles - cheap.cycles
            kind, text = _access_text(form, stride, access.op == "store")
        return _Candidate(
            Finding(kind, self._line(access), cycles * self._weight(block), text),
            partial(explain_value, self._divergence, access.pointer, self._source),
        )

    def _loops(self) -> Iterator[_Candidate]:
        divergence = self._divergence
        blocks = divergence.function.blocks
        for loop in loops_of(divergence):
            header = blocks[loop.header]
            if not divergence.is_divergent_loop(header):
                continue
            cycles = sum(self._block_cycles(blocks[number]) for number in loop.blocks) / 2
            leaving = sorted(
                {source for source, _ in divergence.divergent_exits(header)},
                key=divergence.engine.blocks.__getitem__,
            )
            text = "lanes leave the loop in different iterations and wait for the last one"
            branch = next((b for b in leaving if divergence.is_divergent_branch(b)), None)
            yield _Candidate(
                Finding(FindingKind.DIVERGENT_LOOP, block_line(self._source, header), cycles, text),
                partial(explain_branch, divergence, branch or leaving[0], self._source),
            )

    def _branches(self) -> Iterator[_Candidate]:
        divergence = self._divergence
        leaving = {
            source
            for loop in loops_of(divergence)
            for source, _ in divergence.divergent_exits(divergence.function.blocks[loop.header])
        }
        for block in divergence.function.blocks:
            if not has_choice(block) or not divergence.is_divergent_branch(block) or block in leaving:
                continue
            cycles = self._arms(block) / 2 + MASK_CYCLES * self._weight(block)
            arms = len(block.successors)
            text = f"lanes disagree at the branch: its {'two' if arms == 2 else arms} ways run one after the other"
            yield _Candidate(
                Finding(FindingKind.DIVERGENT_BRANCH, block_line(self._source, block), cycles, text),
                partial(explain_branch, divergence, block, self._source),
            )

    def _arms(self, block: BasicBlock) -> float:
        """Cycles of the blocks that run for some of the lanes because of a branch."""
        control = self._divergence.engine.control
        number = self._divergence.engine.blocks[block]
        some = control.propagation.joins(number).activation_dependent
        return sum(self._block_cycles(control.view.blocks[n]) for n in some)

    def _calls(self) -> Iterator[_Candidate]:
        for block in self._divergence.function.blocks:
            if not self._divergence.has_varying_predicate(block):
                continue
            for instruction in block.instructions:
                if instruction.op == "call" and _runs_lane_by_lane(instruction):
                    cycles = self._cycles("call", 32, self._lanes) * self._weight(block)
                    name = instruction.callee_name or "a function pointer"
                    text = f"{name} is called for a part of the lanes only"
                    yield _Candidate(
                        Finding(FindingKind.CALL, self._line(instruction), cycles, text),
                        partial(explain_activation, self._divergence, block, self._source),
                    )

    def _block_cycles(self, block: BasicBlock) -> float:
        return self._weight(block) * sum(self._instruction_cycles(i) for i in block.instructions)

    def _instruction_cycles(self, instruction: Instruction) -> float:
        divergence = self._divergence
        if instruction.op in ("load", "store"):
            form, _ = access_form(divergence, instruction)
            bits = 8 * divergence.engine.layout.size(instruction.accessed_type)
            return memory_cost(instruction.op, form.value, bits, self._lanes, self._isa).cycles
        uniform = instruction.type is not VOID and divergence.is_uniform(instruction)
        bits = 8 * divergence.engine.layout.size(instruction.type) if instruction.type is not VOID else 32
        lanes = 1 if uniform else self._lanes
        name = instruction.callee_name
        if name is not None and (is_free_call(name) or is_vector_math(name)):
            return (
                0.0 if is_free_call(name) else MATH_CALL.cycles * max(1, bits * lanes / self._isa.vector_bits)
            )
        return self._cycles(
            name.removesuffix(f".{instruction.type}") if name else instruction.op, bits, lanes
        )

    def _cycles(self, op: str, bits: int, lanes: int) -> float:
        return instruction_cost(op, bits, lanes, self._isa).cycles

    def _line(self, instruction: Instruction) -> int | None:
        place = self._source.place(instruction)
        return None if place is None else place.line


def _access_text(form: AccessForm, stride: int | None, stored: bool) -> tuple[FindingKind, str]:
    what = "store" if stored else "load"
    if form is AccessForm.STRIDED:
        apart = "a distance known at run time" if stride is None else f"{stride} bytes"
        return FindingKind.STRIDED, f"{what}: neighbouring lanes are {apart} apart"
    if form is AccessForm.SCATTER:
        return FindingKind.SCATTER, "scatter: each lane stores to an address of its own"
    return FindingKind.GATHER, "gather: each lane loads from an address of its own"


_FREE = ("llvm.lifetime.", "llvm.assume", "llvm.invariant.", "llvm.dbg.", "llvm.experimental.noalias")


def is_free_call(name: str) -> bool:
    """Whether a call costs nothing worth counting: ids, sizes, and notes to the compiler."""
    return name.startswith(_FREE) or kind_of(name) is not None or meaning_of(name) is not None


def is_vector_math(name: str) -> bool:
    """Whether a vector math library has the function."""
    base = name.split(".")[1] if name.startswith("llvm.") else name
    return any(base in library.functions or base.rstrip("f") in library.functions for library in LIBRARIES)


def _runs_lane_by_lane(call: Instruction) -> bool:
    name = call.callee_name
    return name is None or not (name.startswith("llvm.") or is_free_call(name) or is_vector_math(name))
