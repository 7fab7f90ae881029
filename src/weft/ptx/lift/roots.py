"""Which objects an integer may be an address in.

Sums, φs and selects are followed to the *roots*: parameters of the kernel, variables, stack objects, and addresses
loaded from memory. An integer without roots is no address. Of two parameters in a sum, one that the program multiplies
or divides elsewhere is a number, as the length of a row is, if the other one is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.ir import Argument, ConstExpr, Function, GlobalVariable, Instruction, Value
from weft.ir.builder import address_space
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import I32, I64
from weft.ptx.lift.memory import SHARED_ADDRESS

Roots = frozenset[Value]
_NONE: Roots = frozenset()
_SCALES = frozenset(("mul", "shl", "sdiv", "udiv", "srem", "urem"))


@dataclass(slots=True)
class RootAnalysis:
    """The roots of the integers of one function.

    Parameters
    ----------
    function
        The function.
    is_kernel
        Whether its parameters may be addresses.
    marked
        Those that may, by their numbers; all if there are none.
    """

    function: Function
    is_kernel: bool
    marked: frozenset[int]
    _roots: dict[Value, Roots] = field(default_factory=dict)

    def solve(self) -> None:
        """Find the roots of all integers: again and again, as they come around loops, until no more come.

        A sum of two addresses is none, and stays none, so this ends.
        """
        integers = [i for i in self.function.instructions() if i.type in (I32, I64)]
        doubtful: set[Value] = set()
        changed = True
        while changed:
            changed = False
            for value in integers:
                if value in doubtful:
                    continue
                found = self._find(value)
                if not found and self._roots.get(value):
                    doubtful.add(value)
                if found != self._roots.get(value, _NONE):
                    self._roots[value] = found
                    changed = True

    def roots(self, value: Value) -> Roots:
        """What an integer, taken as an address, may be relative to; none where it is no address."""
        known = self._roots.get(value)
        if known is not None:
            return known
        return _NONE if isinstance(value, Instruction) else self._find(value)

    def _joined(self, value: Instruction) -> Roots:
        operands = value.operands if value.op == "phi" else value.operands[1:]
        return frozenset[Value]().union(*(self.roots(o) for o in operands if o is not value))

    def _find(self, value: Value) -> Roots:
        variable = variable_of(value)
        if variable is not None:
            return frozenset((variable,))
        if isinstance(value, Argument):
            may_be = self.is_kernel and (not self.marked or value.index in self.marked)
            return frozenset((value,)) if may_be and value.type == I64 else _NONE
        if not isinstance(value, Instruction):
            return _NONE
        match value.op:
            case "add":
                return _stronger(*(self.roots(o) for o in value.operands))
            case "sub":
                whole, taken = map(self.roots, value.operands)
                return whole if not taken or (_is_scaled(taken) and not _is_scaled(whole)) else _NONE
            case "phi" | "select":
                return self._joined(value)
            case "trunc":
                return _shared(self.roots(value.operands[0]))
            case "zext" | "sext":
                return _shared(self.roots(value.operands[0]))
            case "load":
                return frozenset((value,)) if value.type == I64 else _NONE
            case "call":
                if value.callee_name == SHARED_ADDRESS:
                    return _shared(self.roots(value.args[0]))
                return frozenset((value,)) if value.type == I64 and not _computes(value) else _NONE
            case _:
                return _NONE

    def rename(self, root: Value, name: Value) -> None:
        """Have another value stand for a root."""
        self._roots[name] = frozenset((name,))
        for value, roots in self._roots.items():
            if root in roots:
                self._roots[value] = (roots - {root}) | {name}

    def is_whole(self, value: Value, seen: set[Value] | None = None) -> bool:
        """Whether each way to a value with one root comes from there: none is null, or was never written."""
        seen = set() if seen is None else seen
        if value in seen or value in self.roots(value) or variable_of(value) is not None:
            return True
        seen.add(value)
        if not isinstance(value, Instruction) or not self.roots(value):
            return False
        match value.op:
            case "add" | "sub":
                return any(self.roots(o) and self.is_whole(o, seen) for o in value.operands)
            case "phi":
                return all(self.is_whole(o, seen) for o in value.operands)
            case "select":
                return all(self.is_whole(o, seen) for o in value.operands[1:])
            case _:
                return self.is_whole(value.operands[0], seen)


def _computes(call: Instruction) -> bool:
    """Whether a call only computes: what an intrinsic gives is no address."""
    return (call.callee_name or "llvm.").startswith(("llvm.", "weft.", "__weft_"))


def variable_of(value: Value) -> Value | None:
    """The variable or stack object whose address an integer is."""
    if isinstance(value, ConstExpr) and value.op == "ptrtoint":
        target = value.operands[0]
        return target if isinstance(target, GlobalVariable) else None
    if isinstance(value, Instruction) and value.op == "ptrtoint":
        target = value.operands[0]
        if isinstance(target, GlobalVariable) or (isinstance(target, Instruction) and target.op == "alloca"):
            return target
    return None


def _shared(roots: Roots) -> Roots:
    """Those roots that are shared variables, of whose addresses half is enough."""
    return frozenset(r for r in roots if isinstance(r, GlobalVariable) and address_space(r) == SHARED_SPACE)


def _strength(roots: Roots) -> int:
    if any(isinstance(r, GlobalVariable) or (isinstance(r, Instruction) and r.op == "alloca") for r in roots):
        return 4
    if not any(isinstance(r, Argument) for r in roots):
        return 1
    return 2 if _is_scaled(roots) else 3


def _is_scaled(roots: Roots) -> bool:
    """Whether these are parameters that the program multiplies or divides."""
    return bool(roots) and all(
        isinstance(r, Argument) and any(user.op in _SCALES for user in r.instruction_users()) for r in roots
    )


def _stronger(a: Roots, b: Roots) -> Roots:
    """Which side of a sum is the address; neither where that cannot be told."""
    if not a or not b:
        return a or b
    if _strength(a) == _strength(b):
        return _NONE
    return a if _strength(a) > _strength(b) else b
