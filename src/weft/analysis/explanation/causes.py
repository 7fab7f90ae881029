"""The causes of divergence, one step at a time: what makes a value, a branch or a stack object vary.

They are read off the fixed point of the divergence analysis, all of them, so that a search can choose.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.explanation.words import Words
from weft.analysis.memory.stack_objects import Site
from weft.ir import Argument, BasicBlock, Instruction, Value
from weft.ir.intrinsics import IntrinsicKind, kind_of
from weft.ir.work_item_names import meaning_of

BY_THREAD = "differs from thread to thread"


class BranchNode(Struct, frozen=True):
    """The branch of a block, by the block's number."""

    block: int


class ObjectNode(Struct, frozen=True):
    """The contents of a stack object."""

    site: Site


Node = Value | BranchNode | ObjectNode


class Cause(Struct, frozen=True):
    """`node` is varying because of `because`; None when it is a source.

    `reason` says so in words, with ``{}`` in the place of the next thing worth mentioning. `is_copy`: the node is what
    the next one is.
    """

    node: Node
    reason: str
    because: Node | None
    is_copy: bool = False


class Causes:
    """Looks causes up in the result of an analysis."""

    def __init__(self, divergence: Divergence, words: Words) -> None:
        self.divergence = divergence
        self.words = words
        self.engine = divergence.engine

    def of(self, node: Node) -> Iterator[Cause]:
        """Every reason known for a node to vary."""
        if isinstance(node, BranchNode):
            terminator = self.engine.control.view.blocks[node.block].terminator
            yield from self._operand_causes(
                node, terminator, [terminator.operands[0]], "is divergent because of"
            )
        elif isinstance(node, ObjectNode):
            yield from self._object_causes(node)
        elif isinstance(node, Argument):
            yield Cause(node, "is given as different for each thread", None)
        elif isinstance(node, Instruction):
            yield from self._instruction_causes(node)

    def _instruction_causes(self, node: Instruction) -> Iterator[Cause]:
        if self.engine.is_given(node):
            yield Cause(node, "is given as different for each thread", None)
        elif node.op == "phi":
            yield from self._phi_causes(node)
        elif node.op == "load":
            yield from self._load_causes(node)
        elif node.op in ("atomicrmw", "cmpxchg"):
            yield Cause(node, "is the result of an atomic operation, which each thread does in turn", None)
        elif node.op == "alloca":
            yield Cause(node, "is an object of its own for each thread", ObjectNode(node))
        elif node.op == "call":
            yield from self._call_causes(node)
        else:
            yield from self._operand_causes(node, node, node.operands, "is computed from")
            if any(self.engine.leads_to_stack(v) for v in node.operands):
                yield Cause(node, "is the address of an object of each thread's own", None)

    def _operand_causes(
        self, node: Node, user: Instruction, operands: list[Value], verb: str
    ) -> Iterator[Cause]:
        """`verb` is followed by the operand's description."""
        for operand in operands:
            if not self.divergence.shape(operand).is_uniform:
                yield Cause(node, verb + " {}", operand)
            if user.block is not None and isinstance(operand, Instruction):
                assert operand.block is not None
                for branch in self._leaving_branches(operand.block, user.block):
                    where = f", of a loop that threads leave at {self._place(branch)} in different iterations"
                    yield Cause(node, f"{verb} {self.words.describe(operand)}{where}", BranchNode(branch))

    def _leaving_branches(self, defined: BasicBlock, used: BasicBlock) -> Iterator[int]:
        inside, outside = self.engine.blocks[defined], self.engine.blocks[used]
        for leaving in self.engine.control.exits.values():
            for branch, loop in leaving.items():
                if inside in loop.blocks and outside not in loop.blocks:
                    yield branch

    def _phi_causes(self, phi: Instruction) -> Iterator[Cause]:
        engine, control = self.engine, self.engine.control
        assert phi.block is not None
        block = engine.blocks[phi.block]
        arriving = {engine.blocks[s]: v for v, s in phi.incoming() if s in engine.blocks}
        for value, source in phi.incoming():
            if not self.divergence.shape(value).is_uniform:
                yield Cause(phi, "may be {}", value, is_copy=True)
            if isinstance(value, Instruction) and not engine.arriving(phi, value, source).is_uniform:
                assert value.block is not None
                for branch in self._leaving_branches(value.block, phi.block):
                    yield Cause(phi, f"keeps what a loop computed, which threads leave at {self._place(branch)} in "
                                 "different iterations", BranchNode(branch))  # fmt: skip
        for branch in control.parting_branches(block, arriving):
            yield Cause(
                phi, f"joins values of threads that part at {self._place(branch)}", BranchNode(branch)
            )
        if phi.shadow is not None:
            for node in self.partial_because(block):
                yield Cause(phi, "is another value for threads that are elsewhere", node)

    def partial_because(self, block: int) -> Iterator[Node]:
        """What keeps threads from running a block: branches and its predicate."""
        control = self.engine.control
        for branch in control.divergent:
            if block in control.propagation.joins(branch).activation_dependent:
                yield BranchNode(branch)
        predicate = control.view.blocks[block].predicate
        if predicate is not None and control.predicated[block]:
            yield predicate

    def _place(self, branch: int) -> str:
        terminator = self.engine.control.view.blocks[branch].terminator
        line = self.words.line(terminator)
        return f"line {line}" if line else self.words.describe(terminator)

    def _load_causes(self, load: Instruction) -> Iterator[Cause]:
        pointer = load.pointer
        if load.is_ordered:
            kind = "volatile" if load.attrs.get("volatile") else "atomic"
            yield Cause(load, f"is loaded by {kind} access, which may see other threads' stores", None)
        for site in self.engine.leads_to_stack(pointer) & self.engine.varying_objects:
            yield Cause(
                load,
                f"is loaded from {self.words.describe(site)}, which differs between threads",
                ObjectNode(site),
            )
        yield from self._operand_causes(load, load, [pointer], "is loaded at an address that depends on")

    def _object_causes(self, node: ObjectNode) -> Iterator[Cause]:
        engine, site = self.engine, node.site
        if site in engine.objects.escaped:
            yield Cause(node, "has its address taken where it cannot be followed", None)
        for write in engine.objects.writers(site):
            where = f", line {self.words.line(write)}," if self.words.line(write) else ""
            yield from self._operand_causes(node, write, write.operands, f"is written{where} depending on")
            assert write.block is not None
            for cause in self.partial_because(engine.blocks[write.block]):
                where = f"at line {self.words.line(write)} " if self.words.line(write) else ""
                yield Cause(node, f"is stored to {where}by some of the threads only", cause)
        for leaving in engine.control.exits.values():
            for branch, loop in leaving.items():
                if not engine.objects.defining_blocks(site).isdisjoint(loop.blocks):
                    yield Cause(
                        node,
                        "changes in a loop that threads leave in different iterations",
                        BranchNode(branch),
                    )

    def _call_causes(self, call: Instruction) -> Iterator[Cause]:
        name = call.callee_name
        kind = kind_of(name)
        assert call.block is not None
        if name is not None and meaning_of(name) is not None:
            yield Cause(call, BY_THREAD, None)
            return
        if kind is IntrinsicKind.MASK:
            for node in self.partial_because(self.engine.blocks[call.block]):
                yield Cause(call, "is true for some of the threads only", node)
            return
        before = False
        for cause in self._operand_causes(call, call, call.args, "is computed from"):
            before = True
            yield cause
        if not before:
            yield Cause(call, "is the result of a function of which nothing is known", None)
