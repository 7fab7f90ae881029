"""The height of a stack, from block to block of a loop: a φ and a constant, for `traversals`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.types import IntType

Height = tuple[Value, int]
"""A φ and a constant."""


class NoStackError(Exception):
    """A loop has no stack."""


def require(holds: bool) -> None:
    """Raise `NoStackError` unless something holds."""
    if not holds:
        raise NoStackError


class Heights(Struct):
    """What is known of the height in a loop whose header has a φ for it.

    Parameters
    ----------
    first
        That φ.
    same
        What else is a height: φs of which all ways bring it.
    joins
        φs that are heights of their own.
    rest
        What else addresses are computed from: what is added to indices that count from the end.
    narrowest
        Bits of the narrowest number that a height goes through.
    """

    first: Instruction
    same: dict[Value, Height] = field(default_factory=dict)
    joins: set[Value] = field(default_factory=set)
    rest: list[Value] = field(default_factory=list)
    narrowest: int = 64

    def __post_init__(self) -> None:
        self.joins.add(self.first)

    def plain(self, value: Value) -> Height:
        """A value as another one and a constant, if it is a height."""
        more = 0
        while isinstance(value, Instruction):
            if isinstance(value.type, IntType):
                self.narrowest = min(self.narrowest, value.type.bits)
            if value.op in ("sext", "zext", "trunc", "freeze"):
                value = value.operands[0]
            elif value.op in ("add", "sub") and isinstance(constant := value.operands[1], ConstInt):
                more += constant.signed if value.op == "add" else -constant.signed
                value = value.operands[0]
            else:
                break
        return value, more

    def of(self, value: Value) -> Height:
        """A value as a φ that is known to be a height and a constant."""
        root, more = self.plain(value)
        while root in self.same:
            root, further = self.same[root]
            more += further
        return root, more

    def meet(self, block: BasicBlock, behind: Mapping[BasicBlock, Height]) -> Height:
        """The height at the beginning of a block, by that behind predecessors that are known; checked later."""
        known = [p for p in block.predecessors if p in behind]
        heights = {behind[p] for p in known}
        joining = [
            phi
            for phi in block.phis()
            if isinstance(phi.type, IntType)
            and all(self.of(phi.incoming_value(p)) == behind[p] for p in known)
        ]
        if len(known) == len(block.predecessors) and len(heights) == 1:
            (height,) = heights
            for phi in joining:
                self.same[phi] = height
            return height
        if joining:
            first, *others = joining
            self.joins.add(first)
            if len(known) == len(block.predecessors):
                for phi in others:
                    self.same[phi] = first, 0
            return first, 0
        require(len(heights) == 1)
        return heights.pop()

    def check(self, size: int) -> None:
        """No integer is too narrow for a height, and what else addresses are computed from is 0 at all heights."""
        require(size < 1 << (self.narrowest - 1))
        for value in self.rest:
            roots = _phis_behind(value)
            require(len(roots) == 1 and (roots[0] in self.joins or roots[0] in self.same))
            require(all(_value_at(value, roots[0], height) == 0 for height in range(size + 1)))

    def check_test(self, condition: Value, goes_on_first: bool, size: int) -> None:
        """The loop is left if and only if the height is 0."""
        for height in range(size + 1):
            held = _value_at(condition, self.first, height)
            require(held is not None and (held != 0) == ((height != 0) == goes_on_first))


def is_phi(value: Value) -> bool:
    """Whether a value is a φ."""
    return isinstance(value, Instruction) and value.is_phi


def _phis_behind(value: Value) -> list[Instruction]:
    """The φs that a value is computed from."""
    found: dict[Instruction, None] = {}
    seen: set[Value] = set()
    work = [value]
    while work:
        value = work.pop()
        if not isinstance(value, Instruction) or value in seen:
            continue
        seen.add(value)
        if value.is_phi:
            found[value] = None
        else:
            work += value.operands
    return list(found)


_WITH_TWO: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b if b < 64 else 0,
    "lshr": lambda a, b: a >> b,
}

_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


def _value_at(value: Value, root: Value, number: int) -> int | None:
    """What an integer is where `root` is `number`, without its sign; None where that is not found."""
    if value is root:
        return number
    if isinstance(value, ConstInt):
        return value.value
    if not isinstance(value, Instruction) or value.is_phi or not isinstance(value.type, IntType):
        return None
    operands = [_value_at(v, root, number) for v in value.operands]
    known = [v for v in operands if v is not None]
    if len(known) != len(operands):
        return None
    mask = (1 << value.type.bits) - 1
    if value.op in _WITH_TWO:
        return _WITH_TWO[value.op](*known) & mask
    if value.op in ("zext", "trunc", "freeze"):
        return known[0] & mask
    if value.op == "sext":
        return _signed(known[0], value.operands[0]) & mask
    if value.op == "select":
        return known[1] if known[0] else known[2]
    if value.op == "icmp":
        if value.predicate.startswith("s"):
            known = [_signed(v, of) for v, of in zip(known, value.operands, strict=True)]
        return int(_COMPARED[value.predicate.removeprefix("s").removeprefix("u")](*known))
    return None


def _signed(number: int, of: Value) -> int:
    assert isinstance(of.type, IntType)
    return number - (1 << of.type.bits) if number >> (of.type.bits - 1) else number
