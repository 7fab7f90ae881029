"""The loads of a function that could find their value at all: a test that takes no time where there are none.

A load can get its value from an access of the same type that leads, by the names of its pointer, to the same object;
or from itself in the iteration before, where its address does not change in a loop. Pointers of one φ go together.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.memory.alias import goes_to_shared
from weft.graph.loops import Loop, LoopForest
from weft.ir import ConstExpr, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_speculatable
from weft.ir.types import FloatType, IntType, PointerType, Type

_MOST = 64
"""Steps from a pointer to where it comes from."""


def is_candidate(instruction: Instruction) -> bool:
    """Whether it is a plain load of a number or a pointer."""
    if instruction.op != "load" or not instruction.is_plain_access:
        return False
    if goes_to_shared(instruction.pointer):
        # Other lanes store there meanwhile.
        return False
    return isinstance(instruction.type, (IntType, FloatType, PointerType))


def loads_in_company(view: CFGView, loops: LoopForest) -> set[Instruction]:
    """The loads of a function that have an access beside them, or are one, that may tell their value."""
    roots = _Roots()
    accesses = list(_accesses(view))
    for access in accesses:
        roots.find(access.pointer)
    together: dict[tuple[Value, Type], list[Instruction]] = {}
    for access in accesses:
        together.setdefault((roots.find(access.pointer), access.accessed_type), []).append(access)
    return {
        access
        for group in together.values()
        for access in group
        if is_candidate(access) and (len(group) > 1 or _is_repeated(access, view, loops))
    }


def _accesses(view: CFGView) -> Iterator[Instruction]:
    for block in view.blocks:
        yield from (i for i in block.instructions if i.is_plain_access)


def _is_repeated(load: Instruction, view: CFGView, loops: LoopForest) -> bool:
    """Whether the load is in a loop in which its address stays the same."""
    assert load.block is not None
    loop = loops.innermost[view.index[load.block]]
    return loop is not None and is_fixed(load.pointer, loop, view)


def is_fixed(value: Value, loop: Loop, view: CFGView) -> bool:
    """Whether a value is computed from what a loop does not change, by arithmetic alone."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        if not isinstance(current, Instruction) or current.block is None:
            continue
        if view.index.get(current.block) not in loop.blocks:
            continue
        if current.is_phi or len(seen) > _MOST or not is_speculatable(current):
            return False
        pending.extend(v for v in current.operands if v not in seen)
        seen.update(current.operands)
    return True


class _Roots:
    """Where pointers come from: classes of values, those of one φ in one class."""

    __slots__ = ("_parents",)

    def __init__(self) -> None:
        self._parents: dict[Value, Value] = {}

    def find(self, pointer: Value) -> Value:
        for _ in range(_MOST):
            if pointer in self._parents or not isinstance(pointer, (Instruction, ConstExpr)):
                break
            if pointer.op not in ("getelementptr", "bitcast"):
                break
            pointer = pointer.operands[0]
        if pointer not in self._parents:
            self._parents[pointer] = pointer
            if isinstance(pointer, Instruction) and pointer.is_phi:
                for value in pointer.operands:
                    self._parents[self._top(pointer)] = self._top(self.find(value))
        return self._top(pointer)

    def _top(self, value: Value) -> Value:
        while (parent := self._parents[value]) is not value:
            value = parent
        return value
