"""Which values may be powers of -2 times what they stand for, where inverse roots of floats are -2 times theirs.

A refined inverse root is ``-0.5 e (y e e - 3)`` of its estimate e. Products take the -0.5 along, and so do sums of what
has as much of it, in loops, too: whoever wants the number itself multiplies, behind the loop if that is where it is.
All factors are powers of two, so that nothing is rounded in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from weft.analysis.inverse_roots import is_fast
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import loop_forest
from weft.ir import ConstFloat, ConstSplat, Function, Instruction, Value
from weft.ir.block import BasicBlock
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import Constant, ConstZero, Poison, Undef

MOST = 8
"""A value is no farther from what it stands for than this power of -2: more might leave the range of floats."""

ITERATIONS = 8.0
"""How often a loop is thought to run."""

ROUNDS = 16
"""How often powers are asked for again until they stay: φs of one nest take one round, others follow from them."""

Roots = Mapping[Instruction, Mapping[Instruction, int]]
"""Of each root the quotients by its powers, and by which."""


class Change(Struct, frozen=True):
    """A value that is wanted with another power of -2.

    Attributes
    ----------
    value
        What is wanted.
    user, index
        Who wants it, and as which operand.
    block
        Where: the user's block, or that before a φ.
    power
        How many times it has to be multiplied by -0.5.
    """

    value: Value
    user: Instruction
    index: int
    block: BasicBlock
    power: int


class ScaledSums(Struct, frozen=True):
    """A part of a function in which inverse roots may be -2 times theirs.

    Attributes
    ----------
    roots
        These roots.
    changes
        Values that are wanted with another power of -2 than they have.
    """

    roots: tuple[Instruction, ...]
    changes: tuple[Change, ...]


def scaled_sums(function: Function, roots: Roots) -> list[ScaledSums]:
    """Parts of a function with fewer multiplications where quotients have powers of -2, those of their roots."""
    starts = {quotient: power for quotients in roots.values() for quotient, power in quotients.items()}
    view = cfg_of(function)
    forest = loop_forest(view.cfg)
    often = {block: ITERATIONS ** forest.depth(number) for number, block in enumerate(view.blocks)}
    blocks = [view.blocks[number] for number in reverse_postorder(view.cfg.succs)]
    found: list[ScaledSums] = []
    for part in _parts(_Scales(blocks, starts).known, starts, roots):
        changes = tuple(
            change for value in part if value not in roots for change in _changes(value, part, starts)
        )
        places = {(c.value, c.block) for c in changes if not isinstance(c.value, Constant)}
        here = tuple(root for root in roots if root in part)
        if sum(often[block] for _, block in places) < sum(_saved(root, roots[root], often) for root in here):
            found.append(ScaledSums(here, changes))
    return found


def _saved(
    root: Instruction, quotients: Mapping[Instruction, int], often: Mapping[BasicBlock, float]
) -> float:
    """How many multiplications are saved: the root's own, and that of a quotient by a power, which inverts it."""
    blocks = [root.block, *(quotient.block for quotient, power in quotients.items() if power > 1)]
    return sum(often[block] for block in blocks if block is not None)


def _parts(
    scales: Mapping[Instruction, int], starts: Mapping[Instruction, int], roots: Roots
) -> Iterator[dict[Instruction, int]]:
    """Values that have powers of -2 together, each with its own, and their roots."""
    near: dict[Instruction, list[Instruction]] = {}
    pairs = [
        (v, o)
        for v in scales
        if v not in starts
        for o in v.operands
        if isinstance(o, Instruction) and o in scales
    ]
    pairs += [(root, quotient) for root, quotients in roots.items() for quotient in quotients]
    for a, b in pairs:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    seen = set[Instruction]()
    for first in roots:
        if first not in seen:
            part, work = dict[Instruction, int](), [first]
            while work:
                value = work.pop()
                if value not in part:
                    part[value] = scales.get(value, 0)
                    work += near.get(value, ())
            seen |= part.keys()
            yield part


class _Scales:
    """Powers of -2 that values get from their operands, and φs from what is added; none if they do not settle."""

    def __init__(self, blocks: Sequence[BasicBlock], starts: Mapping[Instruction, int]) -> None:
        self.known, self.phis = dict(starts), set[Instruction]()
        for _ in range(ROUNDS):
            before = dict(self.known)
            for block in blocks:
                for i in block.instructions:
                    if i not in starts and i not in self.phis:
                        self._ask(i)
            if self.known == before:
                return
        self.known = dict(starts)

    def _ask(self, i: Instruction) -> None:
        power = self._power(i)
        if power and abs(power) <= MOST:
            self.known[i] = power
            if i.op == "phi":
                self.phis.add(i)
        elif i in self.known and i not in self.phis:
            del self.known[i]

    def _power(self, i: Instruction) -> int | None:
        match i.op:
            case "fmul" if is_fast(i):
                return self._product(i.operands)
            case "fneg" | "freeze" | "phi":
                return self._sum(i.operands)
            case "fadd" | "fsub" if is_fast(i):
                return self._sum(i.operands)
            case "select":
                return self._sum(i.operands[1:])
            case "call" if is_fused(i) and is_fast(i):
                power = self._product(i.args[:2])
                return self._sum(i.args[2:], power) if power and abs(power) <= MOST else None
            case _:
                return None

    def _product(self, operands: Sequence[Value]) -> int:
        return sum(self.known.get(o, 0) for o in operands if isinstance(o, Instruction))

    def _sum(self, operands: Sequence[Value], power: int | None = None) -> int | None:
        """The power that all operands have, or get as φs."""
        powers = {self.known[o] for o in operands if isinstance(o, Instruction) and o in self.known}
        if power is not None:
            powers.add(power)
        others = [o for o in operands if o not in self.known and not _fits_any(o)]
        if len(powers) != 1 or not all(isinstance(o, Instruction) and o.op == "phi" for o in others):
            return None
        (power,) = powers
        while others:
            phi = others.pop()
            if isinstance(phi, Instruction) and phi.op == "phi" and phi not in self.known:
                self.known[phi] = power
                self.phis.add(phi)
                others += phi.operands
        return power


def is_fused(i: Instruction) -> bool:
    """Whether an instruction multiplies and adds."""
    return (i.callee_name or "").startswith(("llvm.fma.", "llvm.fmuladd."))


def _fits_any(value: Value) -> bool:
    if isinstance(value, ConstSplat):
        return _fits_any(value.element)
    zero = isinstance(value, ConstFloat) and float(value.value) == 0
    return zero or isinstance(value, (ConstZero, Poison, Undef))


def _changes(
    value: Instruction, part: Mapping[Instruction, int], starts: Mapping[Instruction, int]
) -> Iterator[Change]:
    """What has to be multiplied: operands from elsewhere, and the value for users that want another power."""
    for index, operand in enumerate(value.operands):
        if operand not in part and not _fits_any(operand):
            wanted = _wanted(value, index, part, starts)
            if wanted:
                yield Change(operand, value, index, _where(value, index), -wanted)
    for user in value.instruction_users():
        for index, operand in enumerate(user.operands):
            wanted = _wanted(user, index, part, starts)
            if operand is value and wanted is not None and wanted != part[value]:
                yield Change(value, user, index, _where(user, index), part[value] - wanted)


def _where(user: Instruction, index: int) -> BasicBlock:
    block = user.blocks[index] if user.op == "phi" else user.block
    assert block is not None
    return block


def _wanted(
    user: Instruction, index: int, part: Mapping[Instruction, int], starts: Mapping[Instruction, int]
) -> int | None:
    """The power of -2 that a user wants an operand to have; None if any is right."""
    if user in starts or not part.get(user):
        # Of roots, too: they are there without a power.
        return 0
    if user.op == "select":
        return part[user] if index else 0
    if user.op == "call" and index > 2:
        return 0
    return None if user.op == "fmul" or (user.op == "call" and index < 2) else part[user]
