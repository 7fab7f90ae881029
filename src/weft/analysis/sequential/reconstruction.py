"""Expression reconstruction (Juravle, §8.4): integers and addresses as expressions of what a loop does not compute.

`Reconstruction.of` gives the one expression of a value, in parameters, invariant loads, iterations of loops, and
symbols for values of which no more is known; `possible` gives the set of all that it may be. The engine is sparse: it
asks for operands, and remembers. What is made of which instruction is in `operations`, `recurrences`, `pointers`,
`called_values` and `possible_values`; how often loops run in `trip_counts`, what holds where in `guards`.

An expression is the *signed* or the *unsigned reading* of a machine integer, exact over the integers wherever the
program is defined. Numbers read as unsigned in 64 bits are assumed to be less than 2⁶³. Behind its loop a value is what
it was when the loop was left, which is known if the loop counts.
"""

from __future__ import annotations

from weft.analysis.integers.declared_ranges import attributed
from weft.analysis.sequential.assumptions import Obligation
from weft.analysis.sequential.guards import facts_on_the_way, inequalities_of
from weft.analysis.sequential.invariants import Invariants
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.operations import operation
from weft.analysis.sequential.pointers import address_expression
from weft.analysis.sequential.possible_values import possible_set
from weft.analysis.sequential.recurrences import counts
from weft.analysis.sequential.scope import Guard, LoopContext, Program, Scope
from weft.analysis.sequential.trip_counts import count_iterations
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression
from weft.analysis.symbolic.facts import Facts
from weft.ir import Argument, BasicBlock, ConstExpr, ConstInt, GlobalVariable, Instruction, Value
from weft.ir.constants import ConstNull
from weft.ir.metadata import MDNode
from weft.ir.types import IntType, PointerType

MAX_DEPTH = 60
"""Longer chains of operations end in a symbol."""

MAX_SIZE = 160
"""Expressions that are longer to write are a symbol: each square of one that is shared is the square as long."""


class Reconstruction:
    """Expressions of the values of one program."""

    __slots__ = (
        "_active", "_depth", "_facts", "_known", "_left", "_scopes", "_symbols", "_trips", "_unfinished", "_unsigned",
        "in_names", "invariants", "pointees", "program",
    )  # fmt: skip

    def __init__(self, program: Program) -> None:
        self.program = program
        self.invariants = Invariants(program)
        self._known: dict[tuple[Scope, Value, bool], Expression] = {}
        self._symbols: dict[tuple[Scope, Value, bool], Symbol] = {}
        self._facts: dict[tuple[Scope, BasicBlock], Facts] = {}
        self._scopes: dict[Symbol, Scope] = {}
        self._unsigned: dict[Symbol, Value] = {}
        self.pointees: dict[Symbol, MDNode | None] = {}
        """What pointers that are loaded lead to, by their debug information."""
        self.in_names: dict[Expression, Expression] = {}
        """Expressions in the names of the program, as reports have them."""
        self._left: dict[tuple[Scope, Value, bool, LoopContext | None], Symbol] = {}
        self._trips: dict[LoopContext, Expression | None] = {}
        self._depth = 0
        self._active: set[tuple[Scope, Value, bool]] = set()
        self._unfinished = 0
        """How often a value was asked for while it was computed: what is found then may be found better later."""

    def of(self, scope: Scope, value: Value, signed: bool = True) -> Expression:
        """The expression of an integer or an address, for uses in the loops that it is computed in."""
        if isinstance(value, ConstInt):
            return as_expression(value.signed if signed else value.value)
        if isinstance(value, ConstNull):
            return as_expression(0)
        key = (scope, value, signed)
        known = self._known.get(key)
        if key in self._active:
            self._unfinished += 1
        if known is None:
            if self._depth >= MAX_DEPTH:
                return as_expression(self.symbol(scope, value, signed))
            self._depth += 1
            # A value that is asked for while it is computed is a symbol.
            self._known[key] = as_expression(self.symbol(scope, value, signed))
            self._active.add(key)
            try:
                known = self._injected(scope, self._expression(scope, value, signed))
            finally:
                self._depth -= 1
                self._active.discard(key)
            if known.size > MAX_SIZE:
                known = as_expression(self.symbol(scope, value, signed))
            self._known[key] = known
        return known

    def _injected(self, scope: Scope, value: Expression) -> Expression:
        """The expression with the numbers that are given in the place of parameters.

        Where a parameter is written to, what is computed has its name, too, and is another number.
        """
        values = self.program.values
        if not values:
            return value
        while scope.parent is not None:
            scope = scope.parent
        given = {value_name(parameter) for parameter in scope.function.args}
        return value.substitute(
            {
                s: as_expression(values[s.name])
                for s in value.symbols()
                if s.loop is None
                and s.name in values
                and not s.is_pointer
                and not (isinstance(s.origin, Instruction) and s.name in given)
            }
        )

    def at(self, scope: Scope, value: Value, block: BasicBlock, signed: bool = True) -> Expression:
        """The expression of a value for a use in a block: behind a loop, what it was when the loop was left."""
        found = self.of(scope, value, signed)
        if not isinstance(value, Instruction) or value.block is None or value.block is block:
            return found
        inside, outside = scope.loop_of(value.block), scope.loop_of(block)
        if inside is None or inside.contains(outside):
            return found
        return self._behind(scope, value, found, inside, outside, signed)

    def _behind(
        self,
        scope: Scope,
        value: Instruction,
        found: Expression,
        inside: LoopContext,
        outside: LoopContext | None,
        signed: bool,
    ) -> Expression:
        loop: LoopContext | None = inside
        while loop is not None and not loop.contains(outside):
            mine = [s for s in found.symbols() if s.loop is loop]
            if mine:
                last = self._last_iteration(loop, value)
                if last is None or mine != [loop.iteration]:
                    return as_expression(self._left_symbol(scope, value, signed, outside))
                found = found.substitute({loop.iteration: last})
            loop = loop.parent
        return found

    def _left_symbol(
        self, scope: Scope, value: Instruction, signed: bool, outside: LoopContext | None
    ) -> Symbol:
        """What a value was when its loop was left: the same until a loop around both goes on."""
        around = None if value.block is None else scope.loop_of(value.block)
        while around is not None and not around.contains(outside):
            around = around.parent
        key = (scope, value, signed, around)
        if key not in self._left:
            low, high = self.range_of(scope, value, signed)
            self._left[key] = self.program.symbol(value_name(value), around, low, high, origin=value)
        return self._left[key]

    def _last_iteration(self, loop: LoopContext, value: Instruction) -> Expression | None:
        """The number of the iteration that a value of it is from when the loop is left."""
        trips = self.trip_count(loop)
        if trips is None:
            return None
        if self.is_tested_first(loop):
            return trips if value.block is loop.header else None
        return trips - 1

    def is_tested_first(self, loop: LoopContext) -> bool:
        """Whether the loop is left from its header, with a part of an iteration that is no whole one."""
        header = loop.loop.header
        return loop.loop.exit_edges[0][0] == header and loop.loop.latches != (header,)

    def trip_count(self, loop: LoopContext) -> Expression | None:
        """How often the loop's body runs, None where that is not known before it is entered."""
        if loop in self._trips:
            return self._trips[loop]
        self._trips[loop] = None
        asked = self._unfinished
        found = count_iterations(self, loop)
        if found is None and self._unfinished > asked:
            del self._trips[loop]
        else:
            self._trips[loop] = found
        return found

    def operand(self, scope: Scope, user: Instruction, value: Value, signed: bool = True) -> Expression:
        """The expression of an operand, where its user stands."""
        return (
            self.of(scope, value, signed) if user.block is None else self.at(scope, value, user.block, signed)
        )

    def _expression(self, scope: Scope, value: Value, signed: bool) -> Expression:
        if isinstance(value, Argument):
            return self._argument(scope, value, signed)
        if isinstance(value, GlobalVariable | ConstExpr):
            return address_expression(self, scope, value)
        if not isinstance(value, Instruction):
            return as_expression(self.symbol(scope, value, signed))
        if isinstance(value.type, PointerType):
            return address_expression(self, scope, value)
        if not isinstance(value.type, IntType):
            return as_expression(self.symbol(scope, value, signed))
        made = operation(self, scope, value, signed)
        if made is not None:
            return made
        low = self.range_of(scope, value, True)[0]
        if not signed and low is not None and low >= 0:
            # What is never negative has one reading.
            return self.of(scope, value, True)
        return as_expression(self.symbol(scope, value, signed))

    def _argument(self, scope: Scope, value: Argument, signed: bool) -> Expression:
        if scope.parent is not None:
            assert scope.call is not None and scope.call.block is not None
            passed = scope.call.args
            if value.index < len(passed):
                return self.at(scope.parent, passed[value.index], scope.call.block, signed)
        if isinstance(value.type, IntType) and not signed:
            low = self.range_of(scope, value, True)[0]
            if low is not None and low >= 0:
                return self.of(scope, value, True)
            if value.type.bits == 64:
                signed_reading = self.of(scope, value, True)
                self._assume_small(value, signed_reading, scope.function.entry)
                return signed_reading
        return as_expression(self.symbol(scope, value, signed))

    def _assume_small(self, value: Value, reading: Expression, block: BasicBlock) -> None:
        text = f"{value_name(value)}, read as unsigned, is less than 2**63"
        self.program.assume(value, "wrap", text, 0, Obligation(reading, block, True))

    def symbol(self, scope: Scope, value: Value, signed: bool) -> Symbol:
        """The symbol for a value of which no more is known."""
        if not signed:
            low = self.range_of(scope, value, True)[0]
            signed = isinstance(value.type, PointerType) or (low is not None and low >= 0)
        key = (scope, value, signed)
        known = self._symbols.get(key)
        if known is None:
            low, high = self.range_of(scope, value, signed)
            loop = scope.loop_of_value(value)
            if isinstance(value, GlobalVariable):
                loop = None
                shared = self.program.shared_loads.get(value)
                if shared is not None:
                    return shared
            known = self.program.symbol(
                value_name(value),
                loop,
                low,
                high,
                is_pointer=isinstance(value.type, PointerType),
                origin=value,
            )
            if isinstance(value, GlobalVariable):
                self.program.shared_loads[value] = known
            self._symbols[key] = known
            self._scopes[known] = scope
            if not signed:
                self._unsigned[known] = value
        return known

    def is_unsigned(self, symbol: Symbol) -> bool:
        """Whether a symbol is the unsigned reading of its value."""
        return symbol in self._unsigned

    def with_one_reading(self, values: list[Expression], facts: Facts) -> tuple[list[Expression], Facts]:
        """Expressions in the signed readings of numbers that facts say are not negative: there both are the same.

        A size that C declares an array with is read as unsigned, the bound of a loop as signed.
        """
        replaced: dict[Atom, Expression] = {}
        for symbol in {s for e in (*values, *facts.inequalities) for s in e.symbols()}:
            value = self._unsigned.get(symbol)
            if value is not None:
                signed = self.of(self._scopes[symbol], value, True)
                if signed != as_expression(symbol) and facts.is_nonnegative(signed):
                    replaced[symbol] = signed
        if not replaced:
            return values, facts
        return [e.substitute(replaced) for e in values], Facts(
            e.substitute(replaced) for e in facts.inequalities
        )

    def scope_of(self, symbol: Symbol) -> Scope | None:
        """The context of the value that a symbol stands for."""
        return self._scopes.get(symbol)

    def range_of(self, scope: Scope, value: Value, signed: bool) -> tuple[int | None, int | None]:
        """The range of a value in numbers."""
        if not isinstance(value.type, IntType):
            return None, None
        bits = value.type.bits
        if isinstance(value, Argument):
            interval = attributed(value.attributes, bits)
        else:
            interval = scope.ranges.of(value) if isinstance(value, Instruction) else None
        if interval is not None and (signed or interval[0] >= 0):
            return interval[0], interval[1]
        if signed:
            return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        return 0, (1 << bits) - 1

    def counts(self, loop: LoopContext, phi: Instruction) -> bool:
        """Whether a φ of the loop's header grows by the same amount in every iteration, exactly in some reading."""
        return counts(self, loop, phi)

    def guard_inequalities(self, scope: Scope, guard: Guard) -> list[Expression]:
        """What a comparison says that held, or did not."""
        return inequalities_of(self, scope, guard)

    def facts(self, scope: Scope, block: BasicBlock) -> Facts:
        """What holds in a block, in this context: conditions on the way, and of loops around it."""
        key = (scope, block)
        known = self._facts.get(key)
        if known is None:
            self._facts[key] = Facts()
            asked = self._unfinished
            inequalities = facts_on_the_way(self, scope, block)
            loop = scope.loop_of(block)
            while loop is not None and loop.scope is scope:
                inequalities += self._loop_facts(loop)
                loop = loop.parent
            if scope.parent is not None:
                assert scope.call is not None and scope.call.block is not None
                inequalities += self.facts(scope.parent, scope.call.block).inequalities
            known = self._facts[key] = Facts(inequalities)
            if self._unfinished > asked:
                del self._facts[key]
        return known

    def _loop_facts(self, loop: LoopContext) -> list[Expression]:
        """What the test at the bottom of a loop says of the iterations behind the first."""
        trips = self.trip_count(loop)
        if trips is None or self.is_tested_first(loop):
            return []
        return [trips - 1 - as_expression(loop.iteration)]

    def possible(
        self, scope: Scope, value: Value, signed: bool = True, *, whole: Value | None = None
    ) -> tuple[Expression, ...]:
        """All expressions that a value may have, in the order of its program; one symbol where they are too many.

        Parameters
        ----------
        scope, value, signed
            As for `of`.
        whole
            A value that is not taken apart itself.
        """
        found = possible_set(
            self, scope, value, signed, frozenset() if whole is None else frozenset((whole,))
        )
        return (self.of(scope, value, signed),) if found is None else tuple(found)
