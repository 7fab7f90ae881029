"""What a divergence analysis found."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from weft.analysis.divergence.engine import Engine
from weft.analysis.divergence.facts import FunctionFacts
from weft.analysis.divergence.operands import varying_dims
from weft.analysis.divergence.threads import ThreadSet
from weft.analysis.memory.stack_objects import Site
from weft.analysis.shapes import BOTTOM, Shape
from weft.analysis.shapes.lattice import linear_stride
from weft.analysis.shapes.runs import Runs, find_runs
from weft.graph.control_dependence import control_dependence
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Constant, Function, Instruction, Value

Edge = tuple[BasicBlock, BasicBlock]


class Form(StrEnum):
    """How the threads of a lane group access memory together."""

    UNIFORM = "uniform"
    """One address."""
    CONTIGUOUS = "contiguous"
    """Neighbouring elements."""
    STRIDED = "strided"
    """Addresses a fixed number of bytes apart."""
    RUNS = "runs"
    """In a lane space of several dimensions: neighbouring elements, again and again, or few elements for many lanes."""
    GATHER = "gather/scatter"
    """Any addresses."""
    PRIVATE = "private"
    """Each thread its own stack object, at one and the same offset."""


class AccessForm(Struct, frozen=True):
    """The form of an access; of strided ones how many bytes neighbours are apart, of `Form.RUNS` the runs."""

    form: Form
    stride: int | None = None
    runs: Runs | None = None


class Divergence:
    """Shapes of values and what control does, for one function and one set of threads.

    A shape is a claim about the threads for which the instruction is executed, at each execution (the definition
    mask), less those in which the value is poison. In a program with predicates, shadows or total instructions the
    values of passive threads are those of the oblivious semantics, poison unless a total instruction or a shadow gave
    them; so the claim about a total instruction is one about all threads whose operands are not poison.
    """

    __slots__ = ("_empty", "_engine", "function", "threads")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._empty: frozenset[int] | None = None
        self.function: Function = engine.function
        self.threads: ThreadSet = engine.threads

    @property
    def facts(self) -> FunctionFacts:
        """What other analyses of the function can use, as long as it is not changed."""
        return self._engine.facts

    @property
    def engine(self) -> Engine:
        """The fixed point itself, for those who explain it."""
        return self._engine

    def shape(self, value: Value) -> Shape:
        """The shape of a value where it is defined; ⊥ if that cannot be reached.

        A pointer to a stack object that threads differ in is varying; `place_shape` tells more.
        """
        shape = self.place_shape(value)
        sites = self._engine.leads_to_stack(value)
        if sites and not sites.isdisjoint(self._engine.varying_objects) and not shape.is_bottom:
            return self._engine.varying(value, shape.lane_alignment)
        return shape

    def place_shape(self, value: Value) -> Shape:
        """As `shape`, but for a pointer to a stack object the shape of the offset in the thread's own object."""
        if isinstance(value, Constant):
            return self._engine.operands.constant(value).shape
        return self._engine.shapes.get(value, BOTTOM)

    def shape_in(self, value: Value, block: BasicBlock) -> Shape:
        """The shape that the threads in `block` see, which may be outside of a loop that the value is in."""
        return self._engine.shape_in(value, block)

    def is_uniform(self, value: Value) -> bool:
        """Whether all threads that have the value have the same one."""
        return self.shape(value).is_uniform

    @property
    def result(self) -> Shape:
        """The shape of what the function returns."""
        return self._engine.result

    def is_divergent_branch(self, block: BasicBlock) -> bool:
        """Whether threads that run `block` together may leave it to different successors."""
        return self._engine.blocks[block] in self._engine.control.divergent

    @property
    def divergent_branches(self) -> list[BasicBlock]:
        """The blocks that end in a divergent branch, in block order."""
        blocks = self._engine.control.view.blocks
        return [blocks[b] for b in sorted(self._engine.control.divergent)]

    def _loop(self, header: BasicBlock) -> Loop:
        loop = self._engine.control.propagation.loops.headed_by[self._engine.blocks[header]]
        if loop is None:
            raise ValueError(f"no loop begins at %{header.name}")
        return loop

    def is_divergent_loop(self, header: BasicBlock) -> bool:
        """Whether threads may leave the loop in different iterations."""
        return bool(self._engine.control.divergent_exits_of(self._loop(header)))

    def divergent_exits(self, header: BasicBlock) -> set[Edge]:
        """The exit edges (exiting block, exit block) that some threads may take while others stay in the loop."""
        blocks = self._engine.control.view.blocks
        exits = self._engine.control.divergent_exits_of(self._loop(header))
        return {(blocks[a], blocks[b]) for a, b in exits}

    @property
    def join_blocks(self) -> list[BasicBlock]:
        """The blocks in which threads may come together from different predecessors, in block order."""
        blocks = self._engine.control.view.blocks
        return [blocks[b] for b in sorted(self._engine.control.joins)]

    def has_varying_predicate(self, block: BasicBlock) -> bool:
        """Whether the block may run for a part of the threads only: its activation varies (Moll's adep*)."""
        return self._engine.control.partial(self._engine.blocks[block]) != 0

    def has_varying_control(self, block: BasicBlock) -> bool:
        """Whether a part of the threads may be elsewhere when the block runs (Moll's cdep*)."""
        return self._engine.control.control(self._engine.blocks[block]) != 0

    def may_be_empty(self, block: BasicBlock) -> bool:
        """Whether the block, once linearized, may run without any active thread."""
        if self._empty is None:
            self._empty = self._find_empty()
        return self._engine.blocks[block] in self._empty

    def _find_empty(self) -> frozenset[int]:
        control = self._engine.control
        dependent = control_dependence(control.view.cfg).iterated(control.divergent)
        return frozenset(dependent | {b for b, dims in enumerate(control.predicated) if dims})

    def is_uniform_object(self, site: Site) -> bool:
        """Whether all threads do the same to this stack object, so that they could share one."""
        return site not in self._engine.varying_objects

    @property
    def stack_objects(self) -> tuple[Site, ...]:
        """Allocas, and parameters passed by value."""
        return self._engine.objects.sites

    def access_form(self, access: Instruction) -> AccessForm:
        """How threads access memory together in a load, store or atomic operation."""
        engine = self._engine
        pointer = access.pointer
        address = engine.shape(pointer, access)
        sites = engine.leads_to_stack(pointer)
        if varying_dims(address) == 0:
            if sites.isdisjoint(engine.varying_objects):
                return AccessForm(Form.UNIFORM)
            return AccessForm(Form.PRIVATE)
        extents = engine.threads.domain.extents
        size = engine.layout.size(access.accessed_type)
        stride = linear_stride(extents, address.strides)
        if sites or stride is None:
            dims = range(len(extents)) if access.op == "load" else ()
            runs = find_runs(extents, address, size, dims) if not sites else None
            return AccessForm(Form.GATHER if runs is None else Form.RUNS, None, runs)
        return AccessForm(Form.CONTIGUOUS if stride == size else Form.STRIDED, stride)
