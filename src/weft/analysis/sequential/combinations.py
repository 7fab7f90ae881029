"""Operations by which an iteration combines what it is handed with something else, in a φ or in elements of memory.

What C computes in a wider type and cuts off again is the same operation on the narrow numbers: the low bits of a sum
or a product depend on nothing that was cut off before. A minimum or maximum may be a comparison and a choice: with
``x > m ? x : m`` each of the two is the first or the last of the greatest ones, so the choice is associative whatever
zeros of both signs there are, and a NaN is left out. That ``m > x ? m : x`` takes a NaN, and with the next number gives
it up again, is not associative (`weft.analysis.sequential.replacements.takes_nan`).
"""

from __future__ import annotations

from weft.analysis.sequential.accesses import Access
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.replacements import (
    Shape,
    compared,
    depends_on,
    is_same,
    is_true_for_nan,
    narrowed,
    replacement_of,
    users_of,
)
from weft.analysis.sequential.scope import LoopContext
from weft.ir import Instruction, Value

_ASSOCIATIVE = {"add", "mul", "and", "or", "xor", "fadd", "fmul"}
_KEEPS_LOW_BITS = {"add", "sub", "mul", "and", "or", "xor"}
_ASSOCIATIVE_CALLS = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.", "llvm.minnum.", "llvm.maxnum.")


def narrow_reduction(phi: Instruction, shape: Shape) -> Instruction | None:
    """What combines a value in a wider type that is cut off again, as C does with ``unsigned char s; s += a[i]``."""
    wide, inside = narrow_step(phi, shape), set(shape.blocks)
    if wide is None:
        return None
    update = phi.incoming_value(shape.latch)
    (extended,) = (v for v in wide.operands if narrowed(v) is phi)
    chain = ((phi, extended), (extended, wide), (wide, update), (update, phi))
    used = all(
        u is only or (value is update and u.block not in inside) or (value is phi and u.block not in inside)
        for value, only in chain
        for u in users_of(value)
    )
    return wide if used else None


def narrow_step(phi: Instruction, shape: Shape) -> Instruction | None:
    """The same where other things are done with the values, too."""
    update, inside = phi.incoming_value(shape.latch), set(shape.blocks)
    if not isinstance(update, Instruction) or update.block not in inside:
        return None
    found = _cut_off(update, phi)
    return None if found is None or depends_on(found[1], phi, shape) else found[0]


def _cut_off(update: Value, before: Value) -> tuple[Instruction, Value] | None:
    """What combines `before`, extended, with another number, if `update` is what is left of it; and that number."""
    wide = update.operands[0] if isinstance(update, Instruction) and update.op == "trunc" else None
    if not isinstance(wide, Instruction) or wide.op not in _KEEPS_LOW_BITS:
        return None
    a, b = wide.operands
    mine = [v for v in (a, b) if narrowed(v) is before and v is not before]
    if len(mine) != 1 or (wide.op == "sub" and a is not mine[0]):
        return None
    return wide, b if mine[0] is a else a


def scanned_by(made: Reconstruction, loop: LoopContext, phi: Instruction, shape: Shape) -> Instruction | None:
    """The operation by which the next value is this one combined with what does not depend on it.

    Of minima and maxima that are chosen it is the comparison.
    """
    update, inside = phi.incoming_value(shape.latch), set(shape.blocks)
    if not isinstance(update, Instruction) or update.block not in inside:
        return None
    operands = list(update.args) if update.op == "call" else list(update.operands)
    if update.op in ("trunc", "select") or update.is_phi:
        return narrow_step(phi, shape) or _chosen_by(made, loop, phi, shape)
    if update.op == "call":
        name = update.callee_name or ""
        if name.startswith(("llvm.fmuladd.", "llvm.fma.")):
            return (
                update
                if operands[2] is phi and not any(depends_on(v, phi, shape) for v in operands[:2])
                else None
            )
        if not name.startswith(_ASSOCIATIVE_CALLS):
            return None
    elif update.op not in _ASSOCIATIVE and not (update.op in ("sub", "fsub") and operands[0] is phi):
        return None
    others = [v for v in operands if v is not phi]
    if len(others) != 1 or depends_on(others[0], phi, shape):
        return None
    return update


def _chosen_by(made: Reconstruction, loop: LoopContext, phi: Instruction, shape: Shape) -> Instruction | None:
    """The comparison that says whether another number takes the place of this one."""
    chosen = replacement_of(phi, shape)
    condition = None if chosen is None else chosen.condition
    if chosen is None or not isinstance(condition, Instruction) or not _compares(condition):
        return None
    ends = compared(condition)
    others = [v for v in ends if v is not phi]
    if len(others) != 1 or not is_same(made, loop, others[0], chosen.value):
        return None
    return None if depends_on(chosen.value, phi, shape) else condition


def _compares(condition: Instruction) -> bool:
    """Whether a value says which of two numbers is less."""
    if condition.op not in ("icmp", "fcmp"):
        return False
    return len(condition.predicate) == 3 and condition.predicate[1] in "lg"


def updates_element(load: Access, store: Access) -> Instruction | None:
    """The associative operation by which a store combines what a load read with what does not depend on it."""
    ends = _update(load, store)
    if ends is None:
        return None
    read, value = ends
    if users_of(read) != [value]:
        return None
    operands = list(value.args) if value.op == "call" else list(value.operands)
    if value.op == "call":
        name = value.callee_name or ""
        if name.startswith(("llvm.fmuladd.", "llvm.fma.")):
            if operands[2] is not read:
                return None
        elif not name.startswith(_ASSOCIATIVE_CALLS):
            return None
    elif value.op not in _ASSOCIATIVE and not (value.op in ("sub", "fsub") and operands[0] is read):
        return None
    return value if operands.count(read) == 1 else None


def steps_from(load: Access, store: Access) -> Instruction | None:
    """The same for elements that are each computed from the one before.

    They are handed on as numbers, so what is cut off again, and minima and maxima that are chosen, are such operations,
    too: of these it is the comparison.
    """
    operation, ends = updates_element(load, store), _update(load, store)
    if operation is not None or ends is None:
        return operation
    read, value = ends
    narrow = _cut_off(value, read)
    if narrow is not None:
        (extended,) = (v for v in narrow[0].operands if narrowed(v) is read)
        alone = users_of(read) == [extended] and users_of(extended) == [narrow[0]]
        return narrow[0] if alone and users_of(narrow[0]) == [value] else None
    if value.op != "select":
        return None
    condition, a, b = value.operands
    if not isinstance(condition, Instruction) or not _compares(condition) or (a is read) == (b is read):
        return None
    own = [v for v in condition.operands if narrowed(v) is read]
    users = {condition, value, *(v for v in own if v is not read)}
    if {a, b} != set(compared(condition)) or len(own) != 1 or not set(users_of(read)) <= users:
        return None
    return condition


def takes_nan_from(load: Access, store: Access) -> bool:
    """Whether a NaN takes the place of the element before, as a minimum or maximum that is chosen may have it."""
    step, value = steps_from(load, store), store.instruction.stored_value
    if step is None or step.op != "fcmp" or not isinstance(value, Instruction):
        return False
    return is_true_for_nan(step) == (value.operands[2] is load.instruction)


def _update(load: Access, store: Access) -> tuple[Instruction, Instruction] | None:
    """What is read and what is stored, if that is used by nothing else."""
    if load.is_write or not store.is_write or load.scope is not store.scope:
        return None
    if store.instruction.op != "store" or load.instruction.op != "load":
        return None
    value = store.instruction.stored_value
    if not isinstance(value, Instruction) or value.op in ("load", "phi"):
        return None
    return (load.instruction, value) if users_of(value) == [store.instruction] else None
