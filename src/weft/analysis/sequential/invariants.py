"""Loop invariants (Juravle, §8.6): which values are the same in all iterations of a loop, loads included.

The lattice, by value: ⊥ (not computed) < invariant < variant. A value is invariant in a loop if it is computed outside,
or in it by an operation without effects from what is invariant; a φ only if all that it may be is the same value. The
analysis is sparse: it asks for operands, and remembers.

The thesis calls a load invariant if its address is, without a look at the stores. Its own Figure 8.9 stores to
``out[i]`` and takes ``out[0]`` for an invariant α, which the first iteration writes. Here nothing in the loop, nor
in what it calls, may write to the place. Stores through other pointers are apart from it where the pointers lead to
different objects; where that cannot be told, the load is invariant under the recorded assumption that they do not
overlap. A store through the same pointer is apart only if the distance is known.

The table of the thesis's ``&inv`` makes "uninitialized & variant" uninitialized; monotone is variant, as here.
"""

from __future__ import annotations

from weft.analysis.memory.alias import Alias, alias, are_apart, is_identified, locate
from weft.analysis.sequential.names import pointer_name
from weft.analysis.sequential.scope import LoopContext, Program, Scope, line_of
from weft.ir import Argument, ConstExpr, Function, GlobalVariable, Instruction, Value
from weft.ir.effects import may_read, may_write
from weft.ir.heap import heap_call

MAX_DEPTH = 64


class Invariants:
    """Invariance of values in the loops of one program."""

    __slots__ = ("_known", "_program", "_writes", "assumed")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[Value, LoopContext | Scope], bool] = {}
        self._writes: dict[LoopContext | Scope, tuple[tuple[Scope, Instruction], ...]] = {}
        self.assumed: dict[tuple[Instruction, LoopContext | Scope], None] = {}
        """Loads that are taken for invariant because pointers are assumed not to overlap, and where."""

    def is_invariant(self, value: Value, loop: LoopContext, depth: int = 0) -> bool:
        """Whether a value is the same in all iterations of one run of a loop of its own function."""
        if not isinstance(value, Instruction) or value.block is None:
            return True
        scope = loop.scope
        if scope.view.index.get(value.block) is None or not loop.contains(scope.loop_of(value.block)):
            return True
        known = self._known.get((value, loop))
        if known is None:
            # What depends on itself is variant.
            self._known[value, loop] = False
            known = depth < MAX_DEPTH and self._computed(value, loop, depth + 1)
            self._known[value, loop] = known
        return known

    def _computed(self, value: Instruction, loop: LoopContext, depth: int) -> bool:
        if value.is_phi:
            others = [v for v in dict.fromkeys(value.operands) if v is not value]
            return len(others) == 1 and self.is_invariant(others[0], loop, depth)
        if value.op == "alloca" or not all(self.is_invariant(v, loop, depth) for v in value.operands):
            return False
        if value.op == "load":
            return value.is_plain_access and self.is_unwritten(value, loop.scope, loop)
        return not may_read(value) and not may_write(value)

    def is_unwritten(self, load: Instruction, scope: Scope, region: LoopContext | Scope) -> bool:
        """Whether nothing in a loop, or in a whole function, writes what a load reads; assumptions are recorded."""
        layout = self._program.module.layout
        here = locate(load.pointer, layout)
        size = layout.store_size(load.accessed_type)
        assumed: list[tuple[Instruction, Value]] = []
        for writer, store in self.writes(region):
            if store.op != "store" or store.attrs.get("ordering"):
                if _is_harmless(store):
                    continue
                return False
            there = locate(store.pointer, layout)
            if writer is scope and there.base is here.base:
                if alias(here, size, there, layout.store_size(store.accessed_type)) is Alias.NO:
                    continue
                return False
            bases = root_of(writer, there.base), root_of(scope, here.base)
            if bases[0] is bases[1]:
                return False
            if is_apart(*bases):
                continue
            assumed.append((store, bases[0]))
        if assumed:
            self.assumed[load, region] = None
        for store, base in assumed:
            names = sorted({pointer_name(root_of(scope, here.base), layout), pointer_name(base, layout)})
            if len(names) == 2:
                text = f"{names[0]} and {names[1]} do not overlap"
                self._program.assume(load, "overlap", text, 0)
            else:
                text = f"the store in line {line_of(store)} does not write what is read here"
                self._program.assume(load, "overlap", text, line_of(load))
        return True

    def writes(self, region: LoopContext | Scope) -> tuple[tuple[Scope, Instruction], ...]:
        """What may write memory in a loop or a function, calls followed."""
        known = self._writes.get(region)
        if known is None:
            scope = region if isinstance(region, Scope) else region.scope
            blocks = scope.view.blocks if isinstance(region, Scope) else region.blocks
            found: list[tuple[Scope, Instruction]] = []
            for block in blocks:
                for instruction in block.instructions:
                    if not may_write(instruction):
                        continue
                    child = scope.child(instruction) if instruction.op == "call" else None
                    if child is not None:
                        found += self.writes(child)
                    else:
                        found.append((scope, instruction))
            known = self._writes[region] = tuple(found)
        return known


def root_of(scope: Scope, base: Value) -> Value:
    """The value that a pointer is in the caller, where it is an argument of a called function."""
    while isinstance(base, Argument) and scope.parent is not None:
        assert scope.call is not None
        layout = scope.program.module.layout
        base = locate(scope.call.args[base.index], layout).base
        scope = scope.parent
    return base


def is_apart(a: Value, b: Value) -> bool:
    """Whether two roots certainly lead to different objects.

    An object of the function's own whose address is not stored is not what a loaded pointer leads to.
    """
    if are_apart(a, b):
        return True
    for own, other in ((a, b), (b, a)):
        if isinstance(own, Instruction) and own.op == "alloca" and not _leaks(own):
            return other is not own and not isinstance(other, ConstExpr)
        if isinstance(own, GlobalVariable) and own.is_constant:
            return True
        if is_identified(own) and isinstance(other, Argument) and isinstance(own, Instruction):
            return True
    return False


def _leaks(site: Instruction) -> bool:
    """Whether the address of a stack object may be in memory, or with a function that is called."""
    work: list[Value] = [site]
    seen: set[Value] = {site}
    while work:
        for user in work.pop().instruction_users():
            if user.op in ("getelementptr", "bitcast", "phi", "select", "freeze", "addrspacecast"):
                if user not in seen:
                    seen.add(user)
                    work.append(user)
            elif _hands_on(user, seen):
                return True
    return False


def _hands_on(user: Instruction, pointers: set[Value]) -> bool:
    """Whether a user of pointers may put one of them into memory, or give it to a function."""
    if user.op == "store":
        return user.stored_value in pointers
    if user.op == "call":
        return not _is_harmless(user) and not _is_block_operation(user)
    return user.op not in ("load", "icmp")


def _is_block_operation(call: Instruction) -> bool:
    return (call.callee_name or "").startswith(("llvm.memcpy", "llvm.memset", "llvm.memmove"))


def _is_harmless(instruction: Instruction) -> bool:
    """Calls that write nothing that a program reads."""
    name = instruction.callee_name or ""
    if name.startswith(
        ("llvm.lifetime", "llvm.dbg", "llvm.assume", "llvm.experimental.noalias", "llvm.prefetch")
    ):
        return True
    if heap_call(instruction) is not None:
        return True
    callee = instruction.callee
    return isinstance(callee, Function) and not may_write(instruction)
