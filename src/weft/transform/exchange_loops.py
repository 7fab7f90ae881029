"""Loops that update memory by compare and exchange are one atomic operation, where there is one.

    do { old = *p; new = old + v; } while (atomic_cmpxchg(p, old, new) != old)    →    old = atomic_add(p, v)

Programs write sums of floats so where their language has no atomic one. In lanes such a loop goes round until the last
lane has had its turn: of lanes that meet, one gets ahead in each round. Its first guess of what is in memory does not
matter, be it loaded in each round or before the loop.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no loop of one block does this and nothing
else. Preserves the program under FR: memory changes once, from what was read to the new value, as by the last round.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import TRUE
from weft.ir.effects import is_removable
from weft.ir.lane_updates import RMW_OF
from weft.ir.types import F32, F64

_SYMMETRIC = frozenset(("add", "and", "or", "xor", "fadd", "min", "max", "umin", "umax"))


class _Update(Struct, frozen=True):
    """An update of memory by `exchange`: `rmw` of what was there, which `root` is in its type, and `value`."""

    exchange: Instruction
    root: Instruction
    rmw: str
    value: Value
    exit: BasicBlock


def make_exchanges_atomic(function: Function) -> int:
    """Make atomic operations of such loops; return how many."""
    found = [u for block in function.blocks if (u := _update_in(block)) is not None]
    for update in found:
        _replace(update)
    if found:
        remove_dead_instructions(function)
    return len(found)


def _update_in(block: BasicBlock) -> _Update | None:
    branch = block.terminator
    if branch.op != "br" or len(branch.operands) != 1 or block not in branch.blocks:
        return None
    exchanges = [i for i in block.instructions if i.op == "cmpxchg"]
    if len(exchanges) != 1 or set(branch.blocks) == {block}:
        return None
    (exchange,) = exchanges
    pointer, expected, new = exchange.operands
    root = _root(expected)
    if root is None or root.block is not block or _is_in(pointer, block) or exchange.attrs.get("volatile"):
        return None
    loaded = root.op == "load"
    if not (_is_guess_in_memory(root, pointer) if loaded else _is_guess_around(root, exchange)):
        return None
    if any(i not in (exchange, root, branch) and not is_removable(i) for i in block.instructions):
        return None
    if list(block.phis()) != ([] if loaded else [root]) or not _leaves_when_done(branch, exchange, expected):
        return None
    operation = _operation(new, root, block)
    if operation is None:
        return None
    return _Update(exchange, root, *operation, next(b for b in branch.blocks if b is not block))


def _root(number: Value) -> Instruction | None:
    """What a number is but for its type."""
    while isinstance(number, Instruction) and number.op == "bitcast":
        number = number.operands[0]
    return number if isinstance(number, Instruction) else None


def _is_in(value: Value, block: BasicBlock) -> bool:
    return isinstance(value, Instruction) and value.block is block


def _is_guess_in_memory(load: Instruction, pointer: Value) -> bool:
    return load.pointer is pointer


def _is_guess_around(phi: Instruction, exchange: Instruction) -> bool:
    """Whether a φ is, but in the first round, what the exchange has found."""
    if phi.op != "phi":
        return False
    return all(
        _is_found(_root(value), exchange) for value, source in phi.incoming() if source is exchange.block
    )


def _is_found(value: Value | None, exchange: Instruction) -> bool:
    return (
        isinstance(value, Instruction)
        and value.op == "extractvalue"
        and value.operands[0] is exchange
        and value.attrs["indices"] == (0,)
    )


def _leaves_when_done(branch: Instruction, exchange: Instruction, expected: Value) -> bool:
    """Whether the loop goes on as long as memory held something else, and only then."""
    test, block = branch.operands[0], exchange.block
    if not isinstance(test, Instruction) or block is None:
        return False
    again = branch.blocks.index(block)
    if test.op == "extractvalue":
        return test.operands[0] is exchange and test.attrs["indices"] == (1,) and again == 1
    if test.op != "icmp" or test.predicate not in ("eq", "ne"):
        return False
    a, b = test.operands
    compared = (_is_found(a, exchange) and b is expected) or (_is_found(b, exchange) and a is expected)
    return compared and again == (1 if test.predicate == "eq" else 0)


def _operation(new: Value, root: Instruction, block: BasicBlock) -> tuple[str, Value] | None:
    """The operation of ``atomicrmw`` that gives the new value, and its operand, which the loop does not change."""
    made = _root(new)
    if made is None or made.block is not block or made.type not in (new.type, F32, F64):
        return None
    if made.op == "call":
        rmw = RMW_OF.get((made.callee_name or "").rpartition(".")[0])
        operands = tuple(made.args)
    else:
        rmw, operands = RMW_OF.get(made.op), made.operands
    if rmw is None or len(operands) != 2:
        return None
    left, right = operands
    if rmw in _SYMMETRIC and _root(right) is root:
        left, right = right, left
    return (rmw, right) if _root(left) is root and not _is_in(right, block) else None


def _replace(update: _Update) -> None:
    exchange, root, block = update.exchange, update.root, update.exchange.block
    assert block is not None
    pointer, branch = exchange.operands[0], block.terminator
    builder = Builder.after_phis(block) if root.op == "phi" else Builder(before=root)
    builder.loc = exchange.loc
    attrs = {"rmw": update.rmw, "ordering": exchange.attrs["success"], "align": exchange.alignment}
    if exchange.attrs.get("syncscope"):
        attrs["syncscope"] = exchange.attrs["syncscope"]
    old = builder.build("atomicrmw", update.value.type, (pointer, update.value), attrs=attrs)
    found = builder.cast("bitcast", old, root.type) if root.type != old.type else old
    word = exchange.operands[1].type
    number = builder.cast("bitcast", old, word) if word != old.type else old
    for user in list(exchange.instruction_users()):
        user.replace_all_uses(number if user.attrs["indices"] == (0,) else TRUE)
        user.erase()
    root.replace_all_uses(found)
    after = Builder(before=branch)
    after.loc = branch.loc
    after.br(update.exit)
    branch.erase()
    exchange.erase()
    root.erase()
