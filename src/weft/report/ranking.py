"""What costs most because lanes differ: cycles for each place, of the code that is compiled.

What an access, a branch or a call has become, and what that costs, is read off the SIMD code (`weft.report.compiled`);
the program as it was written says why. Each loop around a place counts as ten rounds. A divergent branch costs the work
done for lanes that have no part in it: half the lanes of each block that runs for some lanes only. A divergent loop
costs half its body a round, for the lanes that wait for the slowest. Where there is no code to look at, since a report
asks what would be under assumptions of its own, costs are those of the program as it was written. The estimate ranks;
it predicts no times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.divergence import Divergence
from weft.costs.instructions import MATH_CALL, instruction_cost, memory_cost
from weft.diag.words import counted
from weft.ir import BasicBlock, Instruction
from weft.ir.intrinsics import kind_of
from weft.ir.types import VOID
from weft.ir.work_item_names import meaning_of
from weft.machine.targets import Isa
from weft.machine.vecmath import LIBRARIES
from weft.report import hints
from weft.report.compiled import DIVISIONS, AccessCode, CompiledCode, Spot, spot_of
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


class _Candidate(Struct, frozen=True):
    """A finding, and how to explain it."""

    finding: Finding
    explain: Callable[[], tuple[str, ...]]


class Ranking:
    """Finds what costs, for one function.

    Parameters
    ----------
    divergence
        What is known of the function as it was written.
    source
        Names and places.
    lanes, isa
        Whose costs count where there is no code.
    code
        What it has become, if that is known.
    """

    __slots__ = ("_code", "_divergence", "_isa", "_lanes", "_source")

    def __init__(
        self,
        divergence: Divergence,
        source: SourceMap,
        lanes: int,
        isa: Isa,
        code: CompiledCode | None = None,
    ) -> None:
        self._divergence = divergence
        self._source = source
        self._lanes = lanes
        self._isa = isa
        self._code = code

    def findings(self) -> tuple[Finding, ...]:
        """Everything that costs, the dearest first; equal costs in the order of the program."""
        found = [*self._accesses(), *self._loops(), *self._branches(), *self._calls(), *self._arithmetic()]
        found.sort(key=lambda candidate: -candidate.finding.cycles)
        explained = [replace(c.finding, because=c.explain()) for c in found[:EXPLAINED]]
        return (*explained, *(c.finding for c in found[EXPLAINED:]))

    def _depth(self, block: BasicBlock) -> int:
        engine = self._divergence.engine
        return engine.control.propagation.loops.depth(engine.blocks[block])

    def _weight(self, block: BasicBlock) -> int:
        """How often a block is taken to run."""
        return ROUNDS ** self._depth(block)

    def _finding(
        self, kind: FindingKind, at: Instruction | BasicBlock, cycles: float, text: str, hint: str
    ) -> Finding:
        block = at if isinstance(at, BasicBlock) else at.block
        assert block is not None
        instruction = at.terminator if isinstance(at, BasicBlock) else at
        place = self._source.place(instruction)
        line = block_line(self._source, at) if isinstance(at, BasicBlock) else place and place.line
        column = instruction.loc.column if instruction.loc is not None and place is not None else 0
        file = place.file if place is not None else ""
        return Finding(kind, line, cycles, text, (), hint, file, column, self._depth(block) > 0)

    def _accesses(self) -> Iterator[_Candidate]:
        told: set[tuple[Spot, str]] = set()
        for block in self._divergence.function.blocks:
            for instruction in block.instructions:
                if instruction.op not in ACCESSES:
                    continue
                spot = spot_of(instruction)
                if self._code is not None and spot is not None:
                    # All that was inlined from one place has been put together.
                    key = (spot, ACCESSES[instruction.op])
                    if key in told:
                        continue
                    told.add(key)
                candidate = self._access(block, instruction)
                if candidate is not None:
                    yield candidate

    def _access(self, block: BasicBlock, access: Instruction) -> _Candidate | None:
        form, stride = access_form(self._divergence, access)
        what = ACCESSES[access.op]
        if self._code is not None:
            made = self._code.access(access, what)
            told = None if made is None else _told(made, form, stride, access.op, self._code.width)
        else:
            told = self._estimated(block, access, form, stride)
        if told is None:
            return None
        kind, text, cycles = told
        hint = hints.hint_of_access(self._divergence, access, kind, stride, self._depth(block) > 0)
        return _Candidate(
            self._finding(kind, access, cycles, text, hint),
            partial(explain_value, self._divergence, access.pointer, self._source),
        )

    def _estimated(
        self, block: BasicBlock, access: Instruction, form: AccessForm, stride: int | None
    ) -> tuple[FindingKind, str, float] | None:
        bits = 8 * self._divergence.engine.layout.size(access.accessed_type)
        if access.op in ("atomicrmw", "cmpxchg"):
            text = _atomic_text(form)
            return FindingKind.ATOMIC, text, self._cycles(access.op, bits, self._lanes) * self._weight(block)
        if form in (AccessForm.UNIFORM, AccessForm.CONTIGUOUS, AccessForm.PRIVATE):
            return None
        dear = memory_cost(access.op, form.value, bits, self._lanes, self._isa)
        cheap = memory_cost(access.op, "contiguous", bits, self._lanes, self._isa)
        kind, text = _access_text(form, stride, access.op == "store")
        return kind, text, (dear.cycles - cheap.cycles) * self._weight(block)

    def _loops(self) -> Iterator[_Candidate]:
        divergence = self._divergence
        blocks = divergence.function.blocks
        for loop in loops_of(divergence):
            header = blocks[loop.header]
            if not divergence.is_divergent_loop(header):
                continue
            body = [blocks[number] for number in loop.blocks]
            leaving = sorted(
                {source for source, _ in divergence.divergent_exits(header)},
                key=divergence.engine.blocks.__getitem__,
            )
            if self._code is not None and not self._is_divergent((header, *leaving), self._code):
                continue
            text = "lanes leave the loop in different iterations and wait for the last one"
            branch = next((b for b in leaving if divergence.is_divergent_branch(b)), None)
            yield _Candidate(
                self._finding(
                    FindingKind.DIVERGENT_LOOP, header, self._cycles_of(body) / 2, text, hints.VOTE
                ),
                partial(explain_branch, divergence, branch or leaving[0], self._source),
            )

    def _is_divergent(self, blocks: Iterable[BasicBlock], code: CompiledCode) -> bool:
        """Whether some of the blocks end in a divergent branch, or begin a divergent loop, in the code."""
        return any(
            (spot.file, spot.line) in code.branches | code.loops
            for block in blocks
            for i in (block.terminator, *block.instructions)
            if (spot := spot_of(i)) is not None
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
            arms = len(block.successors)
            text = f"lanes disagree at the branch: its {'two' if arms == 2 else arms} ways run one after the other"
            if self._code is not None:
                place = spot_of(block.terminator)
                if place is None or place[:2] not in self._code.branches:
                    continue
                if place[:2] in self._code.skipped:
                    text += ", but where no lane goes"
            cycles = self._cycles_of(self._arms(block)) / 2 + MASK_CYCLES * self._weight(block)
            yield _Candidate(
                self._finding(FindingKind.DIVERGENT_BRANCH, block, cycles, text, hints.ORDER),
                partial(explain_branch, divergence, block, self._source),
            )

    def _arms(self, block: BasicBlock) -> list[BasicBlock]:
        """The blocks that run for some of the lanes because of a branch."""
        control = self._divergence.engine.control
        number = self._divergence.engine.blocks[block]
        some = control.propagation.joins(number).activation_dependent
        return [control.view.blocks[n] for n in some]

    def _calls(self) -> Iterator[_Candidate]:
        for block in self._divergence.function.blocks:
            for instruction in block.instructions:
                if instruction.op != "call" or not _runs_lane_by_lane(instruction):
                    continue
                name = instruction.callee_name or "a function pointer"
                if self._code is not None:
                    spot = spot_of(instruction)
                    if spot is None or spot not in self._code.lane_by_lane:
                        continue
                    kind, text = FindingKind.LANE_BY_LANE, f"{name} runs once for each active lane"
                    cycles = self._code.cycles.get(spot, 0.0)
                elif self._divergence.has_varying_predicate(block):
                    kind, text = FindingKind.CALL, f"{name} is called for a part of the lanes only"
                    cycles = self._cycles("call", 32, self._lanes) * self._weight(block)
                else:
                    continue
                yield _Candidate(
                    self._finding(kind, instruction, cycles, text, hints.INLINE),
                    partial(explain_activation, self._divergence, block, self._source),
                )

    def _arithmetic(self) -> Iterator[_Candidate]:
        """Divisions of vectors, and 32-bit floats that are computed with in 64 bits."""
        if self._code is None:
            return
        told: set[Spot] = set()
        for instruction in self._divergence.function.instructions():
            spot = spot_of(instruction)
            if spot is None or spot in told:
                continue
            cycles = self._code.divisions.get(spot, 0.0)
            if instruction.op in DIVISIONS and cycles:
                told.add(spot)
                text = (
                    "a division of whole numbers for each lane: processors have no vector instruction for it"
                )
                if instruction.op == "frem":
                    text = "a remainder of floats for each lane: processors have no vector instruction for it"
                yield _Candidate(
                    self._finding(FindingKind.DIVISION, instruction, cycles, text, hints.RECIPROCAL),
                    partial(explain_value, self._divergence, instruction, self._source),
                )
            cycles = self._code.conversions.get(spot, 0.0)
            if instruction.op == "fpext" and cycles:
                told.add(spot)
                text = (
                    "32-bit floats are made 64-bit ones: these take twice the registers, and the conversions"
                )
                yield _Candidate(
                    self._finding(FindingKind.WIDE, instruction, cycles, text, hints.NARROW), lambda: ()
                )

    def _cycles_of(self, blocks: Iterable[BasicBlock]) -> float:
        """Cycles of some blocks."""
        if self._code is not None:
            return self._code.at(i for block in blocks for i in block.instructions)
        return sum(self._block_cycles(block) for block in blocks)

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


def _told(
    made: AccessCode, form: AccessForm, stride: int | None, op: str, width: int
) -> tuple[FindingKind, str, float] | None:
    """What is told of an access by what it has become, if it costs more than one of neighbours."""
    if op in ("atomicrmw", "cmpxchg"):
        return FindingKind.ATOMIC, _atomic_text(form, made.form == "copy"), made.cycles
    cycles = made.cycles - made.contiguous
    if made.form == "lane by lane":
        return FindingKind.LANE_BY_LANE, f"this {op} is made once for each active lane", cycles
    irregular = {"gather", "scatter", "neighbours", "interleaved", "rows", "pieces"} & set(made.forms)
    if not irregular or cycles < 0.5:
        return None
    if form is AccessForm.STRIDED:
        kind, text = _access_text(form, stride, op == "store")
    else:
        scattered = op == "store"
        kind = FindingKind.SCATTER if scattered else FindingKind.GATHER
        _, text = _access_text(AccessForm.SCATTER if scattered else AccessForm.GATHER, None, scattered)
    if made.form == "interleaved":
        text += "; it is made by wide accesses and shuffles"
    elif made.form in ("rows", "pieces"):
        text += f"; it is made in {made.form}, as vectors"
    elif made.form == "neighbours":
        text += "; where lanes turn out to be neighbours it is one access"
    elif "contiguous" in made.forms:
        text += f", but for groups of {counted(width, 'lane', 'lanes')} that lie in one stretch"
    return kind, text, cycles


def _atomic_text(form: AccessForm, in_copy: bool = False) -> str:
    text = "atomics of the lanes run one after the other"
    if in_copy:
        text += ", without locks where a run of groups has a copy of the array"
    return f"{text}, all at one address" if form is AccessForm.UNIFORM else text


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
