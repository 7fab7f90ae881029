"""A function on its way into lanes: what the passes of `weft.codegen.lanes.lane_passes` work on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct, field

from weft.analysis.divergence import Divergence, FunctionFacts, analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.widen.calls import FindMath
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.widen.simd_calls import FindSimd
from weft.ir import Argument, BasicBlock, Function, Instruction, Module, Value
from weft.machine.targets import Isa
from weft.switches import ALL_ON, Switches
from weft.transform.boscc.insertion import Boscc, BosccResult
from weft.transform.loops.divergent_loops import BranchDivergence

_VOTES = ("weft.any", "weft.all")


class SimdForm(Struct, frozen=True):
    """What a function is to look like as SIMD code.

    Parameters
    ----------
    name
        Its name, unless it goes `into` a declaration.
    into
        The declaration that becomes it; its type says whether the result is one for all lanes.
    entry_mask
        The parameter that says which lanes the function is called for, if it may be a part of them.
    scalar_result
        Whether a uniform result is returned as one value, not as a vector.
    """

    name: str
    into: Function | None = None
    entry_mask: Argument | None = None
    scalar_result: bool = True


class LaneUnit(Struct):
    """A function, and the lanes that are to run it: what the passes of this list work on.

    Parameters
    ----------
    module, function
        Canonical P-LLVM: loop-simplified, loop-closed, one return, no barrier unless it is to be split there. Widening
        puts the SIMD function in the place of `function`.
    lanes
        The lane group.
    shapes
        Shapes of parameters; the others are uniform.
    isa
        What the code is for.
    find_math, find_simd
        Find vector math functions, and SIMD functions for called ones.
    boscc
        Where uniform branches go around what divergent ones guard; None for nowhere.
    form
        What the SIMD function is to look like.
    summary
        What became of it so far.
    switches
        What is made use of.
    finish
        Gives SIMD functions that widening has ordered their bodies.
    known
        Its divergence as it is now, where that has been found.
    facts
        What is known of it for any lanes, where it is as it was then.
    branching
        The branches that are not uniform, where that is another question than what the analysis finds.
    uniform
        Blocks whose branches were found uniform before anything was changed.
    leaving
        Blocks on what were divergent exits of loops.
    branches
        The branches with the gadgets that were put in.
    seldom
        Whether it runs so seldom that it should be short: for what is left over of rows.
    rewritten
        Whether the control flow is another than that of the function as it was.
    source
        The name of the function as it was.
    alone
        The function for one lane that it is a copy of, where lanes may call it one after the other.
    """

    module: Module
    function: Function
    lanes: LaneSpace
    shapes: Mapping[Value, Shape]
    isa: Isa
    find_math: FindMath = lambda name, lanes: None
    find_simd: FindSimd = lambda function, signature: None
    boscc: Boscc | None = None
    form: SimdForm = field(default_factory=lambda: SimdForm(""))
    summary: VectorizationSummary = field(default_factory=VectorizationSummary)
    switches: Switches = ALL_ON
    finish: Callable[[], None] = lambda: None
    known: Divergence | None = None
    facts: FunctionFacts | None = None
    branching: BranchDivergence | None = None
    uniform: Collection[BasicBlock] | None = None
    leaving: Collection[BasicBlock] = ()
    branches: BosccResult | None = None
    seldom: bool = False
    rewritten: bool = False
    source: str = ""
    alone: Function | None = None

    def __post_init__(self) -> None:
        self.source = self.source or self.function.name

    @property
    def divergence(self) -> Divergence:
        """The divergence of the function as it is now."""
        if self.known is None:
            domain = domain_named("product", self.lanes.extents)
            self.known = analyze_divergence(
                self.function, domain=domain, initial=self.shapes, width=self.lanes.width, facts=self.facts
            )
        return self.known

    def analyze_again(self) -> Divergence:
        """The divergence of the function, which is not what it was."""
        self.forget()
        return self.divergence

    def analyze_copy(self, copy: Function) -> Divergence:
        """The divergence of a copy of the function."""
        shapes: dict[Value, Shape] = {
            made: self.shapes[argument]
            for argument, made in zip(self.function.args, copy.args, strict=True)
            if argument in self.shapes
        }
        domain = domain_named("product", self.lanes.extents)
        return analyze_divergence(copy, domain=domain, initial=shapes, width=self.lanes.width)

    def forget(self) -> None:
        """Note that the function is not what it was."""
        self.known = self.facts = None

    def is_uniform_branch(self, block: BasicBlock) -> bool:
        """Whether all lanes that leave the block leave it by the same edge."""
        return block in (self.uniform or ()) or not self.divergence.is_divergent_branch(block)


class EveryBranch(Struct, frozen=True):
    """Takes each branch of a function as it was for divergent; those that passes insert are not."""

    blocks: frozenset[BasicBlock]

    @classmethod
    def of(cls, function: Function) -> EveryBranch:
        """The branches of the function as it is now."""
        return cls(frozenset(b for b in function.blocks if len(set(b.successors)) > 1))

    def is_divergent_branch(self, block: BasicBlock) -> bool:
        """Whether the branch was there, and is not one that asks whether any lane is left."""
        condition = block.terminator.operands[:1]
        inserted = condition and isinstance(condition[0], Instruction) and condition[0].callee_name in _VOTES
        return block in self.blocks and not inserted
