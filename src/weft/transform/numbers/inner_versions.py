"""A version for lane groups that are not at an edge: ``max(x - r, 0)``, ``min(x + r, n - 1)``, ``(x + k) % n``.

Lanes side by side access neighbours at ``x - r``, but no shape can be told of ``max(x - r, 0)``, or of a remainder, as
some lanes may be at the edge. Few lane groups are. So it is asked once for a lane group whether in all of its lanes
such a choice is the number itself, and where it is a copy runs that has the number instead, and its shape:

    head: ...; i = max(x - r, 0)               head:  ...; br any(x - r < 0), edge, inner
          ... a[i] ...                         edge:  i = max(x - r, 0); ... a[i] ...
                                               inner: ... a[x - r] ...

Choices are minima and maxima with what is uniform, remainders by it, and selects by a comparison with it of which one
arm alone has a known stride. The number is computed at the function's beginning, or is such a one and the counter of a
loop whose ends are known there, as in ``for k in range(-r, r + 1): ... a[(x + k) % n]``: then it is asked of both ends.
Where the least is not more than the greatest, and they are as far apart as the ends, no sum between wraps around.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the same, with one return, and nothing was
copied unless some access has lanes a known distance apart in the copy that had not. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import INVERTED
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Builder, Constant, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase, split_block
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap, clone_blocks, clone_function
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.intrinsics import declare
from weft.ir.types import I1, IntType
from weft.transform.numbers.front_versions import simplify, straight_blocks
from weft.transform.unify_returns import unify_returns

LARGEST_COPY = 800
"""Functions of more instructions are not copied."""

AT_EDGE = 0.05
"""How likely a lane group is thought to be at an edge, where costs are estimated."""

_STEPS = 6
"""In how many steps a number may be computed, to be computed earlier."""

_LIMITS = {"llvm.smax": "slt", "llvm.smin": "sgt", "llvm.umax": "ult", "llvm.umin": "ugt"}
"""What must not hold of the number and the limit."""

_LESS, _MORE = ("slt", "sle"), ("sgt", "sge")

AnalyzeCopy = Callable[[Function], Divergence]
"""Analyzes a function that has the parameters of the one that is copied."""


class _Number(Struct, frozen=True):
    """A number that lanes have a known distance apart: the sum of what is known early, and of a counter.

    Parameters
    ----------
    terms
        What is known early.
    first, last
        The counter's first value, and its last one, which is less by 1 if `behind`.
    """

    terms: tuple[Value, ...]
    first: Value | None = None
    last: Value | None = None
    behind: bool = False

    @property
    def values(self) -> Iterator[Value]:
        """All that is to be known early."""
        yield from self.terms
        if self.first is not None and self.last is not None:
            yield from (self.first, self.last)


class _Choice(Struct, frozen=True):
    """A choice, and what it is where no lane is at an edge.

    Parameters
    ----------
    instruction, usual
        The choice, and what it is then.
    number, limit
        What is compared; without a number the limit is a truth value that all lanes share, compared with true.
    fails
        What must not hold of the number and the limit for any lane.
    is_natural
        Whether the number must not be negative either.
    """

    instruction: Instruction
    usual: Value
    number: _Number | None
    limit: Value
    fails: str
    is_natural: bool


def add_inner_version(function: Function, divergence: Divergence, analyze_copy: AnalyzeCopy) -> bool:
    """Give a function another version for lane groups that are not at an edge, where accesses are better.

    Parameters
    ----------
    function
        What threads run.
    divergence
        Of the function as it is.
    analyze_copy
        Analyzes a copy, by which it is judged.
    """
    tried = _try(function, divergence, analyze_copy)
    if tried is not None:
        _copy(function, tried.choices)
    return tried is not None


def strided_inside(
    function: Function, divergence: Divergence, analyze_copy: AnalyzeCopy
) -> frozenset[Instruction]:
    """What gets a shape in the version for lane groups that are not at an edge: such numbers had better stay wide."""
    tried = _try(function, divergence, analyze_copy)
    return tried.strided if tried is not None else frozenset()


class _Tried(Struct, frozen=True):
    """Choices that are worth a version, and what is strided in it alone."""

    choices: list[_Choice]
    strided: frozenset[Instruction]


def _try(function: Function, divergence: Divergence, analyze_copy: AnalyzeCopy) -> _Tried | None:
    if sum(1 for _ in function.instructions()) > LARGEST_COPY:
        return None
    if not any(_is_apart(i, divergence) for i in function.instructions()):
        return None
    if any(is_convergent(i) for i in function.instructions()):
        return None
    choices = _Search(function, divergence).choices()
    if not choices:
        return None
    module = function.module
    assert module is not None
    values: ValueMap = {}
    trial = clone_function(function, f"{function.name}.inner", values)
    inner = _copy(trial, [_copied(choice, values) for choice in choices])
    found = analyze_copy(trial)
    added = _strided(trial.instructions(), found) - _strided(function.instructions(), divergence)
    if added <= _strided(_behind(function, choices), divergence):
        del module.functions[trial.name]
        return None
    strided = frozenset(
        i
        for i in function.instructions()
        if isinstance(i.type, IntType)
        and not divergence.shape(i).is_strided
        and isinstance(made := inner.get(values[i]), Instruction)
        and made.block is not None
        and found.shape(made).is_strided
    )
    del module.functions[trial.name]
    return _Tried(choices, strided)


def _is_apart(access: Instruction, divergence: Divergence) -> bool:
    return access.op in ("load", "store") and not divergence.shape(access.pointer).is_strided


def _strided(instructions: Iterable[Instruction], divergence: Divergence) -> int:
    """How many accesses have lanes a known distance apart."""
    accesses = (i for i in instructions if i.op in ("load", "store"))
    return sum(divergence.shape(i.pointer).is_strided for i in accesses)


class _Search:
    """Finds the choices of a function."""

    def __init__(self, function: Function, divergence: Divergence) -> None:
        self._function, self._divergence = function, divergence
        self._view = cfg_of(function)
        self._counters = {loop.counter.phi: loop for loop in _counted(self._view)}
        self._numbers: dict[Value, _Number | None] = {}
        self._found: dict[Instruction, _Choice] = {}
        self._there = set(self._before_choices())

    def choices(self) -> list[_Choice]:
        """All of them, those first that others are made of."""
        for instruction in self._function.instructions():
            if self._may_be_choice(instruction):
                self._number(instruction)
        return list(self._found.values())

    def _before_choices(self) -> Iterator[Instruction]:
        """What runs before the first branch and the first choice."""
        for block in straight_blocks(self._function):
            for instruction in block.instructions:
                if self._may_be_choice(instruction):
                    return
                yield instruction

    def _may_be_choice(self, value: Instruction) -> bool:
        if value.op not in ("srem", "urem", "select") and _limit(value) is None:
            return False
        return not self._divergence.shape(value).is_strided

    def _number(self, value: Value) -> _Number | None:
        """What a number is where no lane is at an edge; None where that is not known, or it is an address."""
        if value.type == I1:
            return None
        if value not in self._numbers:
            self._numbers[value] = None
            self._numbers[value] = self._found_number(value)
        return self._numbers[value]

    def _found_number(self, value: Value) -> _Number | None:
        if isinstance(value, Instruction) and self._may_be_choice(value):
            choice = self._choice(value)
            if choice is None:
                return None
            self._found[value] = choice
            return self._number(choice.usual)
        if not isinstance(value.type, IntType):
            return None
        if self._divergence.shape(value).is_strided and self._is_early(value):
            return _Number((value,))
        if isinstance(value, Instruction) and value.op == "add":
            for number, other in (value.operands, reversed(value.operands)):
                if (found := self._sum(value, number, other)) is not None:
                    return found
        return None

    def _sum(self, value: Instruction, number: Value, other: Value) -> _Number | None:
        if (known := self._number(number)) is None:
            return None
        self._number(other)
        if isinstance(other, Instruction) and other in self._found:
            other = self._found[other].usual
        if not self._is_uniform(other):
            return None
        if _is_zero(other):
            return known
        if self._is_early(other):
            return _Number((*known.terms, other), known.first, known.last, known.behind)
        loop = self._counters.get(other) if isinstance(other, Instruction) else None
        if loop is None or known.first is not None or not _is_in_body(value, loop):
            return None
        start, bound = loop.counter.start, loop.bound
        if not (self._is_early(start) and self._is_early(bound)) or bound.type != other.type:
            return None
        return _Number(known.terms, start, bound, loop.predicate == "slt")

    def _choice(self, value: Instruction) -> _Choice | None:
        if value.op == "select":
            return self._select(value)
        a, b = value.operands[:2]
        if value.op in ("srem", "urem"):
            return self._asked(value, a, a, b, "sge", True)
        fails = _limit(value)
        assert fails is not None
        for number, limit in ((a, b), (b, a)):
            if found := self._asked(value, number, number, limit, fails, fails[0] == "u"):
                return found
        return None

    def _select(self, value: Instruction) -> _Choice | None:
        condition, *arms = value.operands
        if _is_zero(arms[1]) and (found := self._from_the_end(value, condition, arms[1])) is not None:
            return found
        moving = [self._moves(arm) for arm in arms]
        if moving[0] == moving[1]:
            return None
        usual = arms[moving.index(True)]
        if self._is_uniform(condition) and self._is_early(condition):
            return _Choice(value, usual, None, condition, "eq" if usual is arms[1] else "ne", False)
        if not isinstance(condition, Instruction) or condition.op != "icmp":
            return None
        number, limit = condition.operands
        fails = INVERTED[condition.predicate] if usual is arms[0] else condition.predicate
        if fails not in (*_LESS, *_MORE, "eq"):
            return None
        return self._asked(value, usual, number, limit, fails, False)

    def _from_the_end(self, value: Instruction, condition: Value, zero: Value) -> _Choice | None:
        """What is added to an index that counts from the end, or to a remainder that is negative.

        Of a remainder it may be asked whether it and the divisor have different signs, and it is not 0.
        """
        if isinstance(condition, Instruction) and condition.op == "and":
            condition = next((v for v in condition.operands if _asks_for_sign(v)), condition)
        if not (isinstance(condition, Instruction) and _asks_for_sign(condition)):
            return None
        number, limit = condition.operands
        if isinstance(number, Instruction) and number.op == "xor":
            a, b = number.operands
            self._number(a)
            remainder = self._found.get(a) if isinstance(a, Instruction) else None
            if remainder is None or not remainder.is_natural or remainder.limit is not b:
                return None
            # Both are asked for their signs.
            number = a
        return self._asked(value, zero, number, limit, "slt", False)

    def _moves(self, value: Value) -> bool:
        """Whether lanes have a known distance, other than 0, of a value where none is at an edge."""
        shape = self._divergence.shape(value)
        return not shape.is_uniform and (shape.is_strided or self._number(value) is not None)

    def _asked(
        self, value: Instruction, usual: Value, number: Value, limit: Value, fails: str, is_natural: bool
    ) -> _Choice | None:
        found = self._number(number)
        if found is None or self._is_uniform(number):
            return None
        if not (self._is_uniform(limit) and self._is_early(limit)):
            return None
        if found.first is not None and fails == "eq":
            return None
        return _Choice(value, usual, found, limit, fails, is_natural)

    def _is_uniform(self, value: Value) -> bool:
        return self._divergence.shape(value).is_uniform

    def _is_early(self, value: Value, steps: int = _STEPS) -> bool:
        """Whether a value may be computed before the first choice."""
        if not isinstance(value, Instruction):
            return not isinstance(value, Constant) or isinstance(value, ConstInt)
        if value in self._there:
            return True
        if not steps or value.is_phi or self._may_be_choice(value) or not is_speculatable(value):
            return False
        return all(self._is_early(v, steps - 1) for v in value.operands)


def _limit(value: Instruction) -> str | None:
    """What must not hold of the operands of a minimum or maximum if it is to be the first one."""
    if value.op != "call":
        return None
    return _LIMITS.get((value.callee_name or "").rpartition(".")[0])


def _asks_for_sign(value: Value) -> bool:
    return (
        isinstance(value, Instruction)
        and value.op == "icmp"
        and value.predicate == "slt"
        and _is_zero(value.operands[1])
    )


def _is_zero(value: Value) -> bool:
    return isinstance(value, ConstInt) and value.value == 0


def _counted(view: CFGView) -> Iterator[CountedLoop]:
    """The loops that count up by ones."""
    for loop in loop_forest(view.cfg).loops:
        found = counted_loop(view, loop)
        if isinstance(found, CountedLoop) and found.counter.step == 1 and found.predicate in _LESS:
            yield found


def _is_in_body(value: Instruction, loop: CountedLoop) -> bool:
    """Whether a value is computed only where the loop goes on: elsewhere the counter may be at its bound."""
    return value.block in loop.blocks and not (loop.top_tested and value.block is loop.header)


def _copied(choice: _Choice, values: ValueMap) -> _Choice:
    def copy(value: Value) -> Value:
        return values.get(value, value)

    number = choice.number
    if number is not None:
        first, last = (None if v is None else copy(v) for v in (number.first, number.last))
        number = _Number(tuple(map(copy, number.terms)), first, last, number.behind)
    instruction = copy(choice.instruction)
    assert isinstance(instruction, Instruction)
    usual, limit = copy(choice.usual), copy(choice.limit)
    return _Choice(instruction, usual, number, limit, choice.fails, choice.is_natural)


def _first_choice(function: Function, choices: list[_Choice]) -> Instruction:
    """Before which instruction it is asked: the first choice, or the end of what runs before all branches."""
    chosen = {choice.instruction for choice in choices}
    straight = straight_blocks(function)
    found = (i for block in straight for i in block.instructions if i in chosen)
    return next(found, straight[-1].terminator)


def _behind(function: Function, choices: list[_Choice]) -> Iterator[Instruction]:
    """What is there twice."""
    at = _first_choice(function, choices)
    straight = straight_blocks(function)
    assert at.block is not None
    before = set(straight[: straight.index(at.block)])
    instructions = at.block.instructions
    yield from instructions[instructions.index(at) :]
    for block in function.blocks:
        if block is not at.block and block not in before:
            yield from block.instructions


def _copy(function: Function, choices: list[_Choice]) -> ValueMap:
    """Ask, and let all that follows be there twice; what became of it in the copy."""
    at = _first_choice(function, choices)
    head = at.block
    assert head is not None and function.module is not None
    straight = straight_blocks(function)
    before = set(straight[: straight.index(head) + 1])
    there = {i for block in before if block is not head for i in block.instructions}
    there |= set(head.instructions[: head.instructions.index(at)])

    def hoist(value: Value) -> None:
        if isinstance(value, Instruction) and value not in there:
            for operand in value.operands:
                hoist(operand)
            there.add(value)
            value.detach()
            assert at.block is not None
            at.block.insert_before(at, value)

    for choice in choices:
        for value in (*(choice.number.values if choice.number else ()), choice.limit):
            hoist(value)
    rest = split_block(at, "edge")
    head.terminator.erase()
    b = Builder(head)
    b.loc = at.loc
    some: Value = FALSE
    for asked in dict.fromkeys(q for choice in choices for q in _questions(b, choice)):
        # What one choice is about may be undefined where another one counts.
        frozen = b.unary("freeze", asked)
        some = frozen if some is FALSE else b.binary("or", some, frozen)
    some = b.call(declare(function.module, "weft.any"), (some,))
    copied = [block for block in function.blocks if block not in before]
    values: ValueMap = {}
    clone_blocks(copied, function, values)
    inner = values[rest]
    assert isinstance(inner, BasicBlock)
    inner.name = "inner"
    for choice in choices:
        _replace(choice, values)
    simplify(values[block] for block in copied)
    b.cond_br(some, rest, inner).attrs["chance"] = AT_EDGE
    unify_returns(function)
    return values


def _questions(b: Builder, choice: _Choice) -> Iterator[Value]:
    """What must not hold of any lane."""
    number, type = choice.number, choice.limit.type
    if number is None:
        yield b.icmp(choice.fails, choice.limit, TRUE)
        return
    least = number.terms[0]
    for term in number.terms[1:]:
        least = b.binary("add", least, term)
    greatest = least
    if number.first is not None and number.last is not None:
        last = b.binary("sub", number.last, const_int(1, type)) if number.behind else number.last
        least, greatest = b.binary("add", least, number.first), b.binary("add", least, last)
        yield b.icmp("sgt", number.first, last)
        yield b.icmp("sgt", least, greatest)
    if choice.is_natural:
        yield b.icmp("slt", least, const_int(0, type))
        # As signed numbers, since the limit may be none.
        yield b.icmp("slt", choice.limit, const_int(0, type))
    yield b.icmp(choice.fails, least if choice.fails in (*_LESS, "ult") else greatest, choice.limit)


def _replace(choice: _Choice, values: ValueMap) -> None:
    """Let a choice of the copy be what it usually is."""
    made = values.get(choice.instruction)
    if isinstance(made, Instruction):
        usual = values.get(choice.usual, choice.usual)
        replace_and_erase(made, usual)
        values[choice.instruction] = usual
