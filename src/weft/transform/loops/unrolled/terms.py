"""What straight code computes, as terms that are equal where the code does the same.

Integers and addresses are sums of atoms; everything else is an atom, which an operation and the keys of its operands
name. What memory holds is a term, too: stores and atomic operations make another one of it, and loads name the one that
they read.

What is sign-extended may have wrapped around before, and is an atom, but for values that are known not to have. In an
address it is looked through (`Place`): there the round in which a number wraps around is not defined.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from typing import Any

from msgspec import Struct, field

from weft.analysis.integers.intervals import SWAPPED
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.effects import is_convergent, may_not_return, may_read, may_write
from weft.ir.types import IntType, PointerType
from weft.transform.loops.unrolled.sums import (
    LOCAL,
    Sum,
    at_round,
    number,
    plus,
    scaled,
    single,
    split,
    step_of,
)

_COMMUTE = frozenset(("fadd", "fmul", "and", "or", "xor", "mul"))
_CALLS_COMMUTE = tuple(
    f"llvm.{n}." for n in ("fma", "fmuladd", "minnum", "maxnum", "minimumnum", "maximumnum")
)
_PURE = frozenset(("mul", "and", "or", "xor", "shl", "lshr", "ashr", "zext", "sext"))
_MOST_PRODUCTS = 16


MEMORY: Hashable = "memory"
"""That of memory before the loops."""


class Stuck(Exception):
    """The code does what terms do not say."""


class Atoms(Struct):
    """Numbers for what terms are made of; the same for all terms that are to be compared."""

    numbers: dict[Hashable, int] = field(default_factory=dict)
    meanings: list[Any] = field(default_factory=list)
    made_of: list[frozenset[int]] = field(default_factory=list)
    exact: set[Hashable] = field(default_factory=set)

    def of(self, meaning: Hashable, used: Iterable[Sum] = ()) -> int:
        """The atom for it, which is made of those in sums."""
        if meaning not in self.numbers:
            self.numbers[meaning] = len(self.meanings)
            self.meanings.append(meaning)
            self.made_of.append(
                frozenset(atom for sum in used for product, _ in sum.products for atom in product)
            )
        return self.numbers[meaning]


class Place(Struct, frozen=True):
    """The address of an access in each round.

    Parameters
    ----------
    start
        What it is in the first round.
    step
        The distance from round to round.
    extended
        By how many bytes it moves with a number of fewer bits that grows; 0 where none does.
    rest
        All but that number in the first round.
    """

    start: Sum
    step: Sum
    extended: int = 0
    rest: Sum | None = None

    @property
    def key(self) -> Hashable:
        """What is equal of places that are the same where both are defined."""
        return self.start.key, self.step.key


class Terms(Struct):
    """The terms of values.

    Parameters
    ----------
    function
        Whose values they are.
    atoms
        What they are made of.
    known
        Those that are given, and those found.
    memory
        That of memory.
    places
        Of all accesses so far.
    apart
        In a second loop, how many rounds it does at a time; else 0.
    """

    function: Function
    atoms: Atoms
    known: dict[Value, Sum] = field(default_factory=dict)
    memory: Hashable = MEMORY
    places: list[Place] = field(default_factory=list)
    apart: int = 0

    def of(self, value: Value) -> Sum:
        """The term of a value."""
        found = self.known.get(value)
        if found is None:
            found = self._sum(value)
            if found is None and isinstance(value, Instruction) and value.op in _PURE:
                found = self._operation(value)
            self._keep(value, self.atom(value, value) if found is None else found)
        return self.known[value]

    def _keep(self, value: Value, found: Sum) -> None:
        self.known[value] = found = self.joined(found)
        if found.exact:
            self.atoms.exact.add(found.key)

    def joined(self, sum: Sum) -> Sum:
        """The sum as one of all rounds, if it goes on in the second loop as it did in the first."""
        if not self.apart or not any(LOCAL in product for product, _ in sum.products):
            return sum
        still, by = split(sum)
        return still if scaled(self.step(still), self.apart).key == by.key else sum

    def atom(self, meaning: Hashable, value: Value, used: Iterable[Sum] = ()) -> Sum:
        """An atom, as the term of a value."""
        return single(self.atoms.of(meaning, used), _bits(value))

    def run(
        self, code: Iterable[Instruction], rounds: range, known_places: Container[object] | None = None
    ) -> None:
        """Find the terms of code behind that which has been run.

        Parameters
        ----------
        rounds
            In which of the rounds behind the first one its accesses may be.
        known_places
            The keys that they may have, None for any.
        """
        for i in code:
            if is_convergent(i) or may_not_return(i):
                raise Stuck
            if i.op == "load" and i.is_plain_access:
                key = self._place(i.pointer, rounds, known_places)
                self.known[i] = self.atom(("load", str(i.type), self.memory, key), i)
            elif i.op == "store" and i.is_plain_access:
                key = self._place(i.pointer, rounds, known_places)
                self.memory = self.atoms.of(("store", self.memory, key, self.of(i.stored_value).key))
            elif i.op == "atomicrmw":
                key = self._place(i.pointer, rounds, known_places)
                told = (str(i.type), tuple(sorted((k, str(v)) for k, v in i.attrs.items())))
                self.memory = self.atoms.of(("atomic", told, self.memory, key, self.of(i.operands[1]).key))
                self.known[i] = self.atom(("before", self.memory), i)
            elif may_write(i) or may_read(i):
                raise Stuck
            else:
                found = self._sum(i)
                self._keep(i, self._operation(i) if found is None else found)
                if len(self.known[i].products) > _MOST_PRODUCTS:
                    raise Stuck

    def _place(self, pointer: Value, rounds: range, known: Container[object] | None) -> Hashable:
        for later in rounds:
            place = self.place_in(self.of(pointer), later)
            if known is None or place.key in known:
                self.places.append(place)
                return place.key
        raise Stuck

    def place_in(self, address: Sum, later: int) -> Place:
        """The address of an access of so many rounds later."""
        step, start = step_of(address), at_round(address, 0)
        extended = [(p, f) for p, f in address.products if any(self._extends(x) for x in p)]
        if step is None or len(extended) > 1:
            raise Stuck
        if not extended:
            return Place(start, step, 0, start)
        product, factor = extended[0]
        if step.products or len(product) != 1:
            raise Stuck
        op, inner = self.atoms.meanings[product[0]]
        grows = step_of(inner)
        if grows is None:
            raise Stuck
        step = scaled(Sum(grows.products, 64), factor)
        first = self.extension(at_round(inner, -later), op)
        rest = plus(start, single(product[0], 64), -factor)
        return Place(plus(plus(rest, first, factor), step, later), step, factor, rest)

    def step(self, value: Sum) -> Sum:
        """By how much a sum grows from round to round."""
        found = self.place_in(value, 0).step if value.bits == 64 else step_of(value)
        if found is None:
            raise Stuck
        return found

    def meaning(self, sum: Sum) -> Any:
        """What a sum of one atom is; None for others."""
        if len(sum.products) != 1 or sum.products[0][1] != 1 or len(sum.products[0][0]) != 1:
            return None
        return self.atoms.meanings[sum.products[0][0][0]]

    def is_outside(self, atom: int, block: BasicBlock) -> bool:
        """Whether an atom is known not to be of what a block computes."""
        meaning = self.atoms.meanings[atom]
        if isinstance(meaning, Value):
            return not isinstance(meaning, Instruction) or meaning.block is not block
        return meaning[0] not in ("load", "before") and all(
            x >= 0 and self.is_outside(x, block) for x in self.atoms.made_of[atom]
        )

    def is_known_outside(self, sum: Sum, block: BasicBlock) -> bool:
        """Whether a sum is known to be of nothing that a block computes."""
        return all(self.is_outside(atom, block) for product, _ in sum.products for atom in product)

    def _extends(self, atom: int) -> bool:
        """Whether it is what grows from round to round, sign-extended."""
        meaning = self.atoms.meanings[atom] if atom >= 0 else None
        return isinstance(meaning, tuple) and meaning[0] in ("sext", "zext") and meaning[1].grows

    def extension(self, inner: Sum, op: str = "sext") -> Sum:
        """A sum of 32 bits in 64 bits."""
        known, value = inner.exact or inner.key in self.atoms.exact, inner.constant
        if (value is not None and (op == "sext" or value >= 0)) or (known and op == "sext"):
            return Sum(inner.products, 64, True)
        return single(self.atoms.of((op, Sum(inner.products, inner.bits)), (inner,)), 64)

    def _sum(self, value: Value) -> Sum | None:
        """Integers and addresses that are sums; None for all else."""
        bits = _bits(value)
        if isinstance(value, ConstInt):
            return number(value.signed, bits)
        if not isinstance(value, Instruction) or not isinstance(value.type, (IntType, PointerType)):
            return None
        op, operands = value.op, value.operands
        signed = "nsw" in value.flags
        if op == "phi":
            return self.of(operands[0]) if len(operands) == 1 else None
        if op in ("add", "sub") or (op == "or" and "disjoint" in value.flags):
            first, second = map(self.of, operands)
            return plus(first, second, -1 if op == "sub" else 1, signed)
        if op == "getelementptr" and len(operands) == 2 and not value.type.is_vector:
            return plus(
                self.of(operands[0]), self.of(operands[1]), self.function.layout.size(value.source_type)
            )
        if op == "sext" and bits == 64 and _bits(operands[0]) == 32:
            return self.extension(self.of(operands[0]))
        if op == "zext" and bits == 64 and _bits(operands[0]) == 32:
            inner = self.of(operands[0])
            return self.extension(inner, "sext" if "nneg" in value.flags and not inner.grows else "zext")
        if op == "trunc" and bits > 1:
            wide = self.of(operands[0])
            return Sum(scaled(Sum(wide.products, bits), 1).products, bits, signed and wide.exact)
        if op == "udiv":
            return self.quotient(*map(self.of, operands))
        amount = operands[-1].signed if operands and isinstance(operands[-1], ConstInt) else None
        if amount is None:
            return None
        if op == "mul":
            return scaled(self.of(operands[0]), amount, signed)
        if op == "shl" and 0 <= amount < bits - 1:
            return scaled(self.of(operands[0]), 1 << amount, signed)
        if op == "xor" and amount == -1:
            return plus(number(-1, bits), self.of(operands[0]), -1)
        if op == "lshr" and 0 <= amount < bits - 1:
            return self.quotient(self.of(operands[0]), number(1 << amount, bits))
        return None

    def quotient(self, dividend: Sum, divisor: Sum) -> Sum:
        """The quotient of numbers without sign."""
        atom = self.atoms.of(("udiv", dividend.key, divisor.key), (dividend, divisor))
        return single(atom, dividend.bits)

    def _operation(self, i: Instruction) -> Sum:
        used = [self.of(v) for v in i.operands if not v.is_function]
        op, keys = i.op, [sum.key for sum in used]
        told: Hashable = tuple(sorted((k, str(v)) for k, v in i.attrs.items()))
        if op in ("icmp", "fcmp"):
            predicate = i.predicate
            if repr(keys[0]) > repr(keys[1]):
                keys, predicate = keys[::-1], SWAPPED.get(predicate, _swapped(predicate))
            told = predicate
        elif op in _COMMUTE or (i.callee_name or "").startswith(_CALLS_COMMUTE):
            keys[:2] = sorted(keys[:2], key=repr)
        elif op == "call" and i.callee_name is None:
            raise Stuck
        floats = () if isinstance(i.type, IntType) else tuple(sorted(i.flags))
        return self.atom((op, i.callee_name, str(i.type), told, floats, tuple(keys)), i, used)


def _swapped(predicate: str) -> str:
    """That of a comparison of floats the other way around."""
    return (
        predicate.translate(str.maketrans("gl", "lg"))
        if predicate[1:] in ("gt", "ge", "lt", "le")
        else predicate
    )


def _bits(value: Value) -> int:
    return value.type.bits if isinstance(value.type, IntType) else 64
