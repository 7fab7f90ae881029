"""What a function does about its blocks on the heap, made less (`weft.ir.heap`).

- At the end of an iteration only blocks that something after it leads into are kept: of variables, which the front end
  keeps all, those that are live (`weft.analysis.liveness`).
- A small array of constant size that is made in a loop, and dead at the end of the iteration, lies on the stack.
- A frame without blocks is none.

Precondition: canonical P-LLVM. Postcondition: tests that have become constant are gone, so the program is to be made
canonical again. Under FR.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.liveness import liveness
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, TRUE, Builder, ConstInt, ConstNull, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks, replace_and_erase
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.heap import PREFIX, heap_call, is_allocation
from weft.ir.intrinsics import lifetime_start
from weft.ir.layout import DataLayout
from weft.ir.types import I8, I64, PTR, ArrayType, Type

SMALL = 4096
"""Bytes of an array on the stack at most: in each lane, there is one for each place that makes one."""

_DERIVED = ("getelementptr", "phi", "select", "freeze", "bitcast")


def settle_heap(module: Module) -> None:
    """Do so in all functions of `module`."""
    layout = module.layout
    for function in list(module.definitions()):
        _fold_sizes(function)
        _drop_keeps(function)
        _put_on_stack(module, function, layout)
        while _drop_frame(function):
            pass


def _fold_sizes(function: Function) -> None:
    for call in [i for i in function.instructions() if i.callee_name == PREFIX + "bytes"]:
        a, b = call.args
        if isinstance(a, ConstInt) and isinstance(b, ConstInt):
            replace_and_erase(call, ConstInt(I64, min(a.value * b.value, (1 << 64) - 1)))


def derived(pointer: Value) -> list[Value]:
    """A pointer, and the addresses that are computed from it."""
    found: dict[Value, None] = {pointer: None}
    work = [pointer]
    while work:
        for user in work.pop().instruction_users():
            if user.op in _DERIVED and user not in found:
                found[user] = None
                work.append(user)
    return list(found)


def _drop_keeps(function: Function) -> None:
    """Take all away that sweeps keep, and put back what leads to something live behind the sweep."""
    taken: list[tuple[Instruction, list[Instruction], list[Value]]] = []
    for sweep in [i for i in function.instructions() if heap_call(i) == "sweep"]:
        assert sweep.block is not None
        before = sweep.block.instructions[: sweep.block.instructions.index(sweep)]
        keeps = [i for i in before if heap_call(i) == "keep" and i.operands[1] is sweep.operands[1]]
        taken.append((sweep, keeps, [k.operands[2] for k in keeps]))
        for keep in keeps:
            keep.detach()
            keep.set_operand(2, ConstNull(PTR))
    if not taken:
        return
    remove_dead_instructions(function)
    at = liveness(function)
    for sweep, keeps, pointers in taken:
        assert sweep.block is not None
        live = at.after(sweep)
        for keep, pointer in zip(keeps, pointers, strict=True):
            if any(value in live for value in derived(pointer)):
                keep.set_operand(2, pointer)
                sweep.block.insert_before(sweep, keep)
            else:
                keep.drop_operands()


def _put_on_stack(module: Module, function: Function, layout: DataLayout) -> None:
    view = cfg_of(function)
    loops = loop_forest(view.cfg).loops
    for call in [i for i in function.instructions() if is_allocation(i)]:
        size, zeroed = call.operands[1:3]
        loop = _innermost(view, loops, call)
        if not (isinstance(size, ConstInt) and size.value <= SMALL and loop) or zeroed != ConstInt(I64, 0):
            continue
        addresses = derived(call)
        if any(_outlives(address, view, loop) for address in addresses):
            continue
        builder = Builder(before=function.entry.instructions[0])
        type = _element(addresses)
        count = -(-size.value // layout.store_size(type)) or 1
        slot = builder.alloca(ArrayType(type, count), align=64)
        Builder(before=call).call(lifetime_start(module), (slot,))
        for test in [u for u in call.instruction_users() if u.op == "icmp"]:
            if test.predicate in ("eq", "ne") and isinstance(test.operands[1], ConstNull):
                _decide(test, test.predicate == "ne")
        replace_and_erase(call, slot)
    remove_unreachable_blocks(function)


def _innermost(view: CFGView, loops: Iterable[Loop], call: Instruction) -> Loop | None:
    around = [loop for loop in loops if any(view.blocks[b] is call.block for b in loop.blocks)]
    return min(around, key=lambda loop: len(loop.blocks), default=None)


def _outlives(address: Value, view: CFGView, loop: Loop) -> bool:
    """Whether an address computed in the loop may be used in the next iteration, or behind the loop."""
    inside = {view.blocks[b] for b in loop.blocks}
    if isinstance(address, Instruction) and address.is_phi and address.block is view.blocks[loop.header]:
        return True
    return any(user.block not in inside or _passes_on(user, address) for user in address.instruction_users())


def _passes_on(user: Instruction, address: Value) -> bool:
    """Whether an address may come back from where it is used: a function may return it."""
    if user.op == "store":
        return user.stored_value is address
    return user.op not in ("load", "icmp", *_DERIVED) and not heap_call(user)


def _element(addresses: list[Value]) -> Type:
    """The type of what lies at the addresses, as far as all accesses agree."""
    types: set[Type] = set()
    for address in addresses:
        for user in address.instruction_users():
            if user.op == "load" or (user.op == "store" and user.pointer is address):
                types.add(user.accessed_type)
    return types.pop() if len(types) == 1 else I8


def _drop_frame(function: Function) -> bool:
    """Remove a frame that never has blocks or errors; whether there was one."""
    for frame in function.entry.instructions:
        if frame.op != "alloca":
            continue
        calls = [(heap_call(user), user) for user in frame.instruction_users() if not _marks_life(user)]
        if not calls or any(
            n in (None, "allocate", "fail") or (n == "leave" and c.operands[1] is frame) for n, c in calls
        ):
            continue
        for name, call in calls:
            if name == "error":
                for test in list(call.instruction_users()):
                    assert test.op == "icmp"
                    _decide(test, test.predicate == "eq")
            elif name == "mark":
                call.replace_all_uses(ConstNull(PTR))
            call.erase()
        remove_unreachable_blocks(function)
        return True
    return False


def _marks_life(user: Instruction) -> bool:
    return (user.callee_name or "").startswith("llvm.lifetime.")


def _decide(test: Instruction, truth: bool) -> None:
    """Let a condition be constant, and branches on it go one way."""
    for branch in [u for u in test.instruction_users() if u.op == "br"]:
        block = branch.block
        assert block is not None
        taken, other = branch.blocks if truth else reversed(branch.blocks)
        if taken is not other:
            other.remove_phi_source(block)
        builder = Builder(before=branch)
        builder.loc = branch.loc
        builder.br(taken).metadata = branch.metadata
        branch.erase()
    replace_and_erase(test, TRUE if truth else FALSE)
