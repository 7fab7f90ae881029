"""What a loop's body does to memory: each load and store with its object, its offset and what holds there.

Calls of functions with a body are followed in their context (§8.7), so the accesses of a callee are those of this call,
in the caller's expressions. An address with several possible objects (``cond ? a : b``) is several accesses, each of
which may happen. What cannot be described, calls of unknown functions and atomics among them, is an `Opaque`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.guards import may_tell_overflow
from weft.analysis.sequential.pointers import base_of
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Scope, line_of
from weft.analysis.sequential.symbolic_ranges import SymbolicRanges
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.analysis.symbolic.facts import Facts
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import may_read, may_write
from weft.ir.heap import heap_call
from weft.ir.known_functions import LIBRARY


class Kind(Enum):
    """What an access does."""

    READ = "load"
    WRITE = "store"


class Access(Struct, frozen=True, eq=False):
    """Bytes from ``base + offset`` on.

    Parameters
    ----------
    instruction, scope, block
        Where it is.
    kind
        What it does.
    base
        Where the object begins; None where that is not known.
    offset, size
        In bytes.
    element
        The size of one element, in bytes.
    facts
        What holds when it happens.
    is_certain
        Whether the block decides whether it happens, and not also which object is chosen.
    line
        The line in the outermost function that leads to it.
    """

    instruction: Instruction
    scope: Scope
    block: BasicBlock
    kind: Kind
    base: Symbol | None
    offset: Expression
    size: Expression
    element: int
    facts: Facts
    is_certain: bool
    line: int

    @property
    def is_write(self) -> bool:
        return self.kind is Kind.WRITE

    @property
    def loop(self) -> LoopContext | None:
        """The innermost loop around it."""
        return self.scope.loop_of(self.block)


class Opaque(Struct, frozen=True, eq=False):
    """An instruction that does something to memory that is not described.

    Parameters
    ----------
    instruction, line
        What and where.
    text
        A clause that says why it is in the way.
    writes
        Whether it may write.
    """

    instruction: Instruction
    line: int
    text: str
    writes: bool


class Accesses:
    """The accesses of the functions of one program."""

    __slots__ = ("_known", "ranges", "reconstruction")

    def __init__(self, reconstruction: Reconstruction) -> None:
        self.reconstruction = reconstruction
        self.ranges = SymbolicRanges(reconstruction)
        self._known: dict[tuple[Scope, BasicBlock], tuple[Access | Opaque, ...]] = {}

    def of(self, loop: LoopContext) -> list[Access | Opaque]:
        """What happens in a loop, in the order of its blocks."""
        return [access for block in loop.blocks for access in self.in_block(loop.scope, block)]

    def in_block(self, scope: Scope, block: BasicBlock) -> tuple[Access | Opaque, ...]:
        """What happens in a block, calls followed."""
        key = (scope, block)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(self._find(scope, block))
        return known

    def _find(self, scope: Scope, block: BasicBlock) -> Iterator[Access | Opaque]:
        for instruction in block.instructions:
            if not may_read(instruction) and not may_write(instruction):
                continue
            if instruction.is_plain_access:
                yield from self._plain(scope, block, instruction)
            elif instruction.op == "call":
                yield from self._called(scope, block, instruction)
            else:
                volatile = bool(instruction.attrs.get("volatile"))
                what = "a volatile access" if volatile else "an atomic operation"
                yield Opaque(instruction, self._line(scope, instruction), what, True)

    def _plain(self, scope: Scope, block: BasicBlock, instruction: Instruction) -> Iterator[Access]:
        size = scope.program.module.layout.store_size(instruction.accessed_type)
        kind = Kind.READ if instruction.op == "load" else Kind.WRITE
        yield from self._at(scope, block, instruction, instruction.pointer, kind, as_expression(size), size)

    def _at(
        self,
        scope: Scope,
        block: BasicBlock,
        instruction: Instruction,
        pointer: Value,
        kind: Kind,
        size: Expression,
        element: int,
    ) -> Iterator[Access]:
        made = self.reconstruction
        addresses: tuple[Expression, ...] = (made.at(scope, pointer, block),)
        base = base_of(addresses[0])
        if base is None or _is_merge(base):
            found = made.possible(scope, pointer)
            # Expressions of other blocks hold here if they are of the same iterations.
            here = scope.loop_of(block)
            if len(found) > 1 and all(
                s.loop is None or s.loop.contains(here) for e in found for s in e.symbols()
            ):
                addresses = found
        for address in addresses:
            base = base_of(address)
            if base is not None and _is_merge(base):
                base = None
            offset = address if base is None else address - as_expression(base)
            facts = self.ranges.complete(made.facts(scope, block), [offset, size])
            (offset, size), facts = made.with_one_reading([offset, size], facts)
            offset, size = facts.simplified(offset), facts.simplified(size)
            yield Access(
                instruction, scope, block, kind, base, offset, size, element, facts,
                len(addresses) == 1, self._line(scope, instruction),
            )  # fmt: skip

    def _called(self, scope: Scope, block: BasicBlock, call: Instruction) -> Iterator[Access | Opaque]:
        name = call.callee_name or ""
        line = self._line(scope, call)
        if name.startswith(
            ("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.prefetch", "llvm.experimental.noalias")
        ):
            return
        if name.startswith(("llvm.memcpy", "llvm.memmove", "llvm.memset")):
            length = self.reconstruction.at(scope, call.args[2], block, False)
            yield from self._at(scope, block, call, call.args[0], Kind.WRITE, length, 1)
            if not name.startswith("llvm.memset"):
                yield from self._at(scope, block, call, call.args[1], Kind.READ, length, 1)
            return
        child = scope.child(call)
        if child is not None:
            for inner in child.function.blocks:
                yield from self.in_block(child, inner)
            return
        heap = heap_call(call)
        if heap is not None:
            if heap in ("mark", "sweep", "keep"):
                return
            yield Opaque(call, line, "memory is allocated", True)
            return
        if name in LIBRARY and not may_write(call):
            return
        if not name:
            yield Opaque(call, line, "a function is called through a pointer", True)
            return
        what = f"{name} is called, of which nothing is known"
        yield Opaque(call, line, what, may_write(call))

    def _line(self, scope: Scope, instruction: Instruction) -> int:
        """The line of an instruction, or of the call that leads to it, in the function that is looked at."""
        while scope.parent is not None:
            assert scope.call is not None
            instruction, scope = scope.call, scope.parent
        return line_of(instruction)

    def assumptions(self, access: Access | Opaque) -> list[Assumption]:
        """What the description of an access rests on."""
        if isinstance(access, Opaque):
            return []
        instruction = access.instruction
        roots = [instruction.pointer] if instruction.op == "store" else list(instruction.operands)
        return self.assumed_by(access.scope, roots, access.block)

    def assumed_by(self, scope: Scope, values: list[Value], block: BasicBlock) -> list[Assumption]:
        """What the expressions of values in a block rest on, and those of the conditions on the way to it."""
        assumed = self.reconstruction.program.assumed
        if not assumed:
            return []
        found: dict[Assumption, None] = {}
        seen: set[Value] = set()
        conditions = [g.value for g in scope.guards(block)]
        loop = scope.loop_of(block)
        while loop is not None and loop.scope is scope:
            for exiting in loop.loop.exiting:
                conditions += scope.view.blocks[exiting].terminator.operands
            loop = loop.parent
        work = [*values, *(c for c in conditions if not self._says_nothing(c))]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            for assumption in assumed.get(value, ()):
                found[assumption] = None
            if isinstance(value, Instruction):
                work += value.operands
        if scope.parent is not None:
            assert scope.call is not None and scope.call.block is not None
            found.update(dict.fromkeys(self.assumed_by(scope.parent, [*scope.call.args], scope.call.block)))
        return list(found)

    def _says_nothing(self, condition: Value) -> bool:
        return isinstance(condition, Instruction) and may_tell_overflow(self.reconstruction, condition)


def _is_merge(base: Symbol) -> bool:
    origin = base.origin
    return isinstance(origin, Instruction) and origin.op in ("phi", "select")
