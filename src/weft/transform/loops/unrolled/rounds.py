"""Whether the two parts of an unrolled loop do the same, round by round.

The numbers that grow by the same from round to round are sums with the round in them; all else that loops hand on is
*state*. The body is run in terms as often as it stands in the unrolled loop, and the unrolled loop once, from the same
state: what comes of state and memory has to be equal.

Numbers of 32 bits may wrap around, and a compiler that has unrolled a loop took it that they do not. So may we where
memory is accessed at them (`weft.transform.numbers.accessed_indices`). Let an address be ``base + c·i + offset`` in
the body, with an i that is sign-extended, and let i wrap around from one round to the next:

* if the program that is given computes it so, two accesses behind each other are ``c·(2³² - step)`` bytes apart, 2 GiB
  or more, which no object has: one of them is undefined;
* if it does not, but the body of the loop that is made does, then it accesses ``base + c·2³¹ + offset`` or what lies
  beyond, and so has no object that is as small as that of `base`.

In the first round no address is other than it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from weft.ir import BasicBlock, Function, Instruction, Value
from weft.transform.loops.unrolled.defined import has_base, is_defined
from weft.transform.loops.unrolled.shapes import OneBlockLoop, Pair
from weft.transform.loops.unrolled.sums import LOCAL, Sum, at_round, each_round, plus
from weft.transform.loops.unrolled.terms import MEMORY, Atoms, Place, Stuck, Terms


class Line(Struct, frozen=True):
    """What grows by the same from round to round.

    Parameters
    ----------
    first
        What it is in the first round.
    step
        By what it grows.
    """

    first: Value
    step: Sum


class Parts(Struct):
    """What is known of a pair of loops.

    Parameters
    ----------
    pair
        The loops.
    factor
        How often the body stands in the unrolled one.
    unrolled_first
        Whether that is the first one.
    atoms
        What terms are made of.

    Attributes
    ----------
    lines
        The φs of the first loop and the middle that grow by the same.
    state
        The other φs, each with the number of the state that it is.
    starts
        What each state is at first.
    places
        Where the body accesses memory.
    """

    pair: Pair
    factor: int
    unrolled_first: bool
    atoms: Atoms = field(default_factory=Atoms)
    lines: dict[Instruction, Line] = field(default_factory=dict)
    state: dict[Instruction, int] = field(default_factory=dict)
    starts: list[Value] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    @property
    def function(self) -> Function:
        """Whose loops they are."""
        assert self.pair.before.function is not None
        return self.pair.before.function

    def plain(self) -> Terms:
        """Terms of what is before the loops."""
        return Terms(self.function, self.atoms)

    def follow(self) -> None:
        """Find lines and state.

        Raises
        ------
        Stuck
            The loops do not hand on the same.
        """
        pair, first = self.pair, self.pair.first
        steps = line_steps(first, self.plain())
        apart = self.factor if self.unrolled_first else 1
        for phi in pair.middle.phis():
            start = phi.incoming_value(pair.before)
            end = first.handed_on(phi.incoming_value(first.exit))
            one = next(
                (p for p in first.phis if first.following(p) is end and _same(first.first(p), start)), None
            )
            if one is None:
                raise Stuck
            if one in steps:
                self.lines[phi] = self.lines[one] = Line(start, divided(steps[one], apart))
            else:
                self.state[phi] = self.state.setdefault(one, len(self.starts))
                if self.state[phi] == len(self.starts):
                    self.starts.append(start)
        for phi in first.phis:
            if phi in steps and phi not in self.lines:
                self.lines[phi] = Line(first.first(phi), divided(steps[phi], apart))
            elif phi not in self.lines and phi not in self.state:
                raise Stuck
        if pair.second is not None:
            self._follow_second(pair.second)

    def _follow_second(self, second: OneBlockLoop) -> None:
        steps = line_steps(second, self.plain())
        for phi in second.phis:
            if phi in steps:
                continue
            middle = second.first(phi)
            if not isinstance(middle, Instruction) or middle not in self.state:
                raise Stuck
            self.state[phi] = self.state[middle]

    def terms(self, block: BasicBlock, states: Sequence[Sum], later: int = 0) -> Terms:
        """Terms of what a block computes that begins so many rounds later, with such states."""
        plain, second = self.plain(), self.pair.second
        given: dict[Value, Sum] = {phi: states[k] for phi, k in self.state.items() if phi.block is block}
        is_second = second is not None and block is second.body
        for phi, line in self.lines.items():
            # What is computed of the first loop's ends is that of the round in which the second one begins.
            if is_second or phi.block is block:
                given[phi] = plus(plain.of(line.first), each_round(line.step, 0 if is_second else later))
        if not is_second:
            return Terms(self.function, self.atoms, given)
        assert second is not None
        inside = Terms(self.function, self.atoms, given, apart=1 if self.unrolled_first else self.factor)
        for phi, step in line_steps(second, plain).items():
            inside.known[phi] = inside.joined(
                plus(inside.of(second.first(phi)), each_round(step, later, LOCAL))
            )
        return inside

    def start_of(self, line: Sum) -> Sum:
        """What a line is in the first round."""
        return self.plain().place_in(line, 0).start if line.bits == 64 else at_round(line, 0)

    def line_of(self, phi: Instruction) -> Sum | None:
        """A φ of the block in which rounds begin, as a sum with the round; None if it is no such sum."""
        found = self.terms(self.rolled, self.no_states()).known.get(phi)
        if found is None or phi in self.state or any(LOCAL in product for product, _ in found.products):
            return None
        return found

    def no_states(self) -> list[Sum]:
        """An atom for each state."""
        return [self.plain().atom(("state", k), value) for k, value in enumerate(self.starts)]

    def agree(self) -> bool:
        """Whether the loops do the same, the unrolled one so many rounds at a time."""
        pair = self.pair
        unrolled = pair.first if self.unrolled_first else pair.second
        assert unrolled is not None
        states, rolled = self.no_states(), self.rolled
        current, memory, keys = states, MEMORY, set[object]()
        after: list[tuple[Sequence[Sum], object]] = []
        for later in range(self.factor):
            body = self.terms(rolled, current, later)
            body.memory = memory
            body.run(self.code(), range(later, later + 1))
            current, memory = [body.of(value) for value in self.next_states()], body.memory
            after.append((current, memory))
            self.places += body.places
        keys |= {place.key for place in self.places}
        whole = self.terms(unrolled.body, states)
        whole.run(_code(unrolled), range(self.factor), keys)
        ends = {self.state[p]: whole.of(unrolled.following(p)) for p in unrolled.phis if p in self.state}
        if len(ends) != len(states) or not self._is_after(ends, whole.memory, after[-1]):
            return False
        if not all(is_defined(self.function, self.atoms, place) for place in self.places):
            return False
        if not all(self.has_base(place) for place in whole.places if place.extended):
            return False
        return pair.second is not None or self._chain_agrees(states, after, keys)

    def is_same_with(self, lines: dict[Value, Sum]) -> bool:
        """Whether a round does the same with other sums for some of its lines."""
        found: list[tuple[object, ...]] = []
        for given in ({}, lines):
            body = self.terms(self.rolled, self.no_states())
            body.known |= given
            body.run(self.code(), range(1))
            if not all(is_defined(self.function, self.atoms, place) for place in body.places):
                return False
            found.append((body.memory, *(body.of(value).key for value in self.next_states())))
        return found[0] == found[1]

    def _is_after(self, ends: dict[int, Sum], memory: object, after: tuple[Sequence[Sum], object]) -> bool:
        return memory == after[1] and all(ends[k].key == s.key for k, s in enumerate(after[0]))

    def _chain_agrees(
        self, states: Sequence[Sum], after: Sequence[tuple[Sequence[Sum], object]], keys: set[object]
    ) -> bool:
        pair = self.pair
        if len(pair.chain) != self.factor - 1:
            return False
        rest = self.terms(pair.middle, states)
        rest.run(plain_code(pair.middle), range(self.factor), keys)
        for later, block in enumerate(pair.chain):
            rest.run(plain_code(block), range(self.factor), keys)
            ends = {k: rest.of(phi.incoming_value(block)) for k, phi in self._behind().items()}
            if len(ends) != len(states) or not self._is_after(ends, rest.memory, after[later]):
                return False
        return True

    @property
    def rolled(self) -> BasicBlock:
        """The block in whose φs a round begins."""
        rolled = self.pair.second if self.unrolled_first else self.pair.first
        return rolled.body if rolled is not None else self.pair.middle

    def code(self) -> list[Instruction]:
        """What one round does."""
        pair = self.pair
        if not self.unrolled_first:
            return _code(pair.first)
        if pair.second is not None:
            return _code(pair.second)
        return [*plain_code(pair.middle), *plain_code(pair.chain[0])]

    def next_states(self) -> list[Value]:
        """What the states are behind that code."""
        pair = self.pair
        rolled = pair.second if self.unrolled_first else pair.first
        if rolled is not None:
            found = {self.state[p]: rolled.following(p) for p in rolled.phis if p in self.state}
        else:
            found = {k: phi.incoming_value(pair.chain[0]) for k, phi in self._behind().items()}
        if len(found) != len(self.starts):
            raise Stuck
        return [found[k] for k in range(len(self.starts))]

    def _behind(self) -> dict[int, Instruction]:
        """The φs behind the loops that take the states."""
        found: dict[int, Instruction] = {}
        for phi in self.pair.after.phis():
            value = phi.incoming_value(self.pair.middle)
            if isinstance(value, Instruction) and value in self.state:
                found[self.state[value]] = phi
        return found

    def has_base(self, place: Place) -> bool:
        """Whether it is in an object of less than 2 GiB."""
        return has_base(self.function, self.atoms, place)


def line_steps(loop: OneBlockLoop, terms: Terms) -> dict[Instruction, Sum]:
    """The φs of a loop that grow by the same in each of its rounds, and by what."""
    found: dict[Instruction, Sum] = {}
    for phi in loop.phis:
        step = plus(terms.of(loop.following(phi)), terms.of(phi), -1)
        if terms.is_known_outside(step, loop.body):
            found[phi] = step
    return found


def divided(step: Sum, apart: int) -> Sum:
    """A part of a step."""
    if apart == 1:
        return step
    if any(factor % apart for _, factor in step.products):
        raise Stuck
    return Sum(tuple((p, f // apart) for p, f in step.products), step.bits)


def _code(loop: OneBlockLoop) -> list[Instruction]:
    return plain_code(loop.body)


def plain_code(block: BasicBlock) -> list[Instruction]:
    """A block but for its φs and its end."""
    return [i for i in block.non_phis() if not i.is_terminator]


def _same(a: Value, b: Value) -> bool:
    return a is b or a == b
