"""Expression reconstruction (Juravle, §8.4): integers and addresses as expressions of what a loop does not compute.

The lattice of the thesis is the sets of expressions, ordered by inclusion. Here most values have one: `of` gives
it, in parameters, invariant loads, iterations of loops, and symbols for values of which no more is known.
`possible` gives the set: a φ or a ``select`` may be any of its operands, and a value that depends on itself other
than by counting is expanded once (Figure 8.10: ``sum`` is 0 or ``sum + α``). The engine is sparse and asks for
operands.

Machine integers. An expression is the *signed* or the *unsigned reading* of a value, exact over the integers
wherever the program is defined. An addition that may not wrap (``nsw``, ``nuw``) is one of expressions; another one
only if the ranges of its operands show that it does not, else it is a symbol with the range of its type. In 64
bits, where sizes and addresses are computed and flags are often missing, the assumption that nothing wraps is
recorded instead. Numbers read as unsigned in 64 bits are assumed to be less than 2⁶³.

A φ of a loop's header that grows by the same amount in every iteration is ``start + step·iteration``. Behind its
loop it is what it was when the loop was left, which is known if the loop counts.
"""

from __future__ import annotations

from weft.analysis.integers.declared_ranges import attributed
from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.memory.addresses import decompose
from weft.analysis.sequential.invariants import Invariants
from weft.analysis.sequential.names import place_name, pointee_of, target_of, value_name
from weft.analysis.sequential.scope import (
    Guard,
    LoopContext,
    Obligation,
    Program,
    Scope,
    holding_predicate,
    line_of,
)
from weft.analysis.symbolic.expression import (
    Atom,
    Expression,
    Symbol,
    as_expression,
    floor_division,
    maximum,
    minimum,
    remainder,
)
from weft.analysis.symbolic.facts import Facts, numeric_bound
from weft.ir import Argument, BasicBlock, ConstExpr, ConstInt, GlobalVariable, Instruction, Value
from weft.ir.constants import ConstNull
from weft.ir.metadata import MDNode
from weft.ir.types import IntType, PointerType

MAX_DEPTH = 60
"""Longer chains of operations end in a symbol."""

MAX_POSSIBLE = 6
"""Larger sets of expressions are one symbol."""

_BIG_FACTOR = 1 << 24
"""A product in 64 bits with a greater number, without flags, is one of a hash and meant to wrap."""


class Reconstruction:
    """Expressions of the values of one program."""

    __slots__ = (
        "_active", "_depth", "_facts", "_known", "_pointees", "_scopes", "_symbols", "_trips", "_unfinished",
        "_unsigned", "invariants", "program",
    )  # fmt: skip

    def __init__(self, program: Program) -> None:
        self.program = program
        self.invariants = Invariants(program)
        self._known: dict[tuple[Scope, Value, bool], Expression] = {}
        self._symbols: dict[tuple[Scope, Value, bool], Symbol] = {}
        self._facts: dict[tuple[Scope, BasicBlock], Facts] = {}
        self._scopes: dict[Symbol, Scope] = {}
        self._unsigned: dict[Symbol, Value] = {}
        self._pointees: dict[Symbol, MDNode | None] = {}
        self._trips: dict[LoopContext, Expression | None] = {}
        self._depth = 0
        self._active: set[tuple[Scope, Value, bool]] = set()
        self._unfinished = 0
        """How often a value was asked for while it was computed: what is found then may be found better later."""

    # What a value is.

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
                known = self._expression(scope, value, signed)
            finally:
                self._depth -= 1
                self._active.discard(key)
            self._known[key] = known
        return known

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
        low, high = self._range(scope, value, signed)
        return self.program.symbol(value_name(value), outside, low, high, origin=value)

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
        found = self._count(loop)
        if found is None and self._unfinished > asked:
            del self._trips[loop]
        else:
            self._trips[loop] = found
        return found

    def _count(self, loop: LoopContext) -> Expression | None:
        if len(loop.loop.exit_edges) != 1 or loop.loop.is_irreducible:
            return None
        scope, exiting = loop.scope, loop.loop.exit_edges[0][0]
        if exiting != loop.loop.header and loop.loop.latches != (exiting,):
            return None
        block = scope.view.blocks[exiting]
        stays = [b for b in block.terminator.successors if scope.view.index[b] in loop.loop.blocks]
        guards = list(scope.edge_guards(block, stays[0])) if len(stays) == 1 else []
        # Conditions that are no single comparison may end the loop earlier.
        if len(guards) != 1 or guards[0].value is not block.terminator.operands[0]:
            return None
        inequalities = self.guard_inequalities(scope, guards[0])
        if len(inequalities) != 1:
            return None
        # The loop goes on while room - step·iteration is not negative.
        parts = inequalities[0].coefficients(loop.iteration)
        if len(parts) != 2 or any(loop.contains(s.loop) for s in parts[0].symbols()):
            return None
        step = parts[1].constant
        if step is None or step >= 0:
            return None
        trips = floor_division(parts[0], -step) + 1
        known = Facts(self._entry_facts(loop))
        if not known.is_nonnegative(trips):
            trips = maximum([trips, as_expression(0)])
        return trips if self.is_tested_first(loop) else trips + 1

    def _entry_facts(self, loop: LoopContext) -> list[Expression]:
        """What holds when a loop is entered: the conditions on the way to its header."""
        return self._guard_facts(loop.scope, loop.header)

    def _in(self, scope: Scope, user: Instruction, value: Value, signed: bool = True) -> Expression:
        """The expression of an operand, where its user stands."""
        return (
            self.of(scope, value, signed) if user.block is None else self.at(scope, value, user.block, signed)
        )

    # Kinds of values.

    def _expression(self, scope: Scope, value: Value, signed: bool) -> Expression:
        if isinstance(value, Argument):
            return self._argument(scope, value, signed)
        if isinstance(value, GlobalVariable | ConstExpr):
            return self._address(scope, value)
        if not isinstance(value, Instruction):
            return as_expression(self.symbol(scope, value, signed))
        if isinstance(value.type, PointerType):
            return self._address(scope, value)
        if not isinstance(value.type, IntType):
            return as_expression(self.symbol(scope, value, signed))
        made = self._instruction(scope, value, signed)
        if made is not None:
            return made
        low = self._range(scope, value, True)[0]
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
            low = self._range(scope, value, True)[0]
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

    def _instruction(self, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
        """The expression of an integer that is computed; None where it is a symbol."""
        assert isinstance(value.type, IntType)
        op, operands, bits = value.op, value.operands, value.type.bits
        if op == "phi":
            return self._phi(scope, value, signed)
        if op in ("add", "sub", "mul", "shl") or (op == "or" and "disjoint" in value.flags):
            return self._sum(scope, value, signed)
        if op in ("sext", "zext", "trunc"):
            return self._cast(scope, value, signed)
        if op == "freeze":
            return self._in(scope, value, operands[0], signed)
        if op in ("sdiv", "udiv", "srem", "urem", "ashr", "lshr", "and"):
            return self._division(scope, value, signed)
        if op == "xor" and isinstance(operands[1], ConstInt) and operands[1].signed == -1 and bits > 1:
            return -1 - self._in(scope, value, operands[0]) if signed else None
        if op == "select":
            return self._select(scope, value, signed)
        if op == "load":
            return self._load(scope, value, signed)
        if op == "call":
            return self._call(scope, value, signed)
        return None

    def _sum(self, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
        assert isinstance(value.type, IntType)
        a, b = (self._in(scope, value, v, signed) for v in value.operands)
        op, bits = value.op, value.type.bits
        if op == "shl":
            number = value.operands[1]
            if not isinstance(number, ConstInt) or number.value >= bits:
                return None
            total = a * (1 << number.value)
        elif op == "mul":
            total = a * b
        else:
            if (
                op == "add"
                and not signed
                and isinstance(value.operands[1], ConstInt)
                and "nuw" not in value.flags
            ):
                # A number is subtracted by adding what it wraps around to.
                b = as_expression(value.operands[1].signed) if value.operands[1].signed < 0 else b
            total = a - b if op == "sub" else a + b
        if op == "or" or ("nsw" if signed else "nuw") in value.flags:
            return total
        if self._fits(scope, value, total, bits, signed):
            return total
        if bits == 64:
            if any(isinstance(v, ConstInt) and abs(v.signed) >= _BIG_FACTOR for v in value.operands):
                return None
            if not signed:
                low = self._range(scope, value, True)[0]
                reading = self.of(scope, value, True)
                if low is None or low < 0:
                    obligation = None if value.block is None else Obligation(reading, value.block, True)
                    text = "what is computed here is not negative"
                    self.program.assume(value, "wrap", text, line_of(value), obligation)
                return reading
            obligation = None if value.block is None else Obligation(total, value.block)
            text = "what is computed here does not wrap around"
            self.program.assume(value, "wrap", text, line_of(value), obligation)
            return total
        return None

    def _fits(self, scope: Scope, value: Instruction, total: Expression, bits: int, signed: bool) -> bool:
        """Whether a sum is within the range of its type, wherever it is computed."""
        least = -(1 << (bits - 1)) if signed else 0
        most = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
        low, high = numeric_bound(total, upper=False), numeric_bound(total, upper=True)
        if low is not None and low >= least and high is not None and high <= most:
            return True
        ends = [scope.ranges.at(v, value.block) for v in value.operands]
        if signed and value.op in ("add", "sub") and ends[0] is not None and ends[1] is not None:
            (a, b), (c, d) = ends[0], ends[1]
            low, high = (a + c, b + d) if value.op == "add" else (a - d, b - c)
            if low >= least and high <= most:
                return True
        assert value.block is not None
        facts = self.facts(scope, value.block)
        return facts.is_nonnegative(total - least) and facts.is_nonnegative(most - total)

    def _cast(self, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
        assert isinstance(value.type, IntType)
        source = value.operands[0]
        assert isinstance(source.type, IntType)
        if value.op == "sext":
            inner = self._in(scope, value, source)
            if signed:
                return inner
            return inner if self._is_nonnegative(scope, value, inner) else None
        if value.op == "zext":
            if source.type.bits == 1:
                return None
            return self._in(scope, value, source, "nneg" in value.flags)
        inner = self._in(scope, value, source, signed)
        if (
            self._fits(scope, value, inner, value.type.bits, signed)
            or ("nsw" if signed else "nuw") in value.flags
        ):
            return inner
        return None

    def _is_nonnegative(self, scope: Scope, value: Instruction, expression: Expression) -> bool:
        low = numeric_bound(expression, upper=False)
        if low is not None and low >= 0:
            return True
        assert value.block is not None
        return self.facts(scope, value.block).is_nonnegative(expression)

    def _division(self, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
        op, (left, right) = value.op, value.operands
        assert isinstance(value.type, IntType)
        if op == "and":
            if isinstance(right, ConstInt) and right.signed > 0 and right.value & (right.value + 1) == 0:
                # The low bits are the remainder by a power of two, of either reading.
                return remainder(self._in(scope, value, left, signed), right.value + 1)
            return None
        if op in ("ashr", "lshr"):
            if not isinstance(right, ConstInt) or not 0 < right.value < value.type.bits:
                return None
            inner = self._in(scope, value, left, op == "ashr")
            if signed or op == "lshr" or self._is_nonnegative(scope, value, inner):
                return floor_division(inner, 1 << right.value)
            return None
        return self._quotient(scope, value, signed)

    def _quotient(self, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
        op, (left, right) = value.op, value.operands
        assert isinstance(value.type, IntType) and value.block is not None
        unsigned = op[0] == "u"
        a, b = (self._in(scope, value, v, not unsigned) for v in (left, right))
        wants_quotient = op in ("udiv", "sdiv")
        if self._is_nonnegative(scope, value, a):
            if not self.facts(scope, value.block).is_positive(b):
                return None
            made = floor_division(a, b) if wants_quotient else remainder(a, b)
            high = numeric_bound(made, upper=True)
            is_small = high is not None and high < 1 << (value.type.bits - 1)
            return made if not (unsigned and signed) or is_small else None
        if unsigned or not signed or not isinstance(right, ConstInt) or right.signed <= 0:
            return None
        # Towards zero: up for a negative dividend, down for others.
        up = -floor_division(-a, right.signed)
        if self._is_nonnegative(scope, value, -a):
            quotient = up
        else:
            quotient = maximum([floor_division(a, right.signed), minimum([up, as_expression(0)])])
        return quotient if wants_quotient else a - quotient * right.signed

    def _select(self, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
        condition, a, b = value.operands
        first, second = self._in(scope, value, a, signed), self._in(scope, value, b, signed)
        if first == second:
            return first
        if not isinstance(condition, Instruction) or condition.op != "icmp":
            return None
        predicate: str = condition.predicate
        if (predicate[0] == "s") != signed or predicate in ("eq", "ne"):
            return None
        x, y = (self._in(scope, value, v, signed) for v in condition.operands)
        # The greater or the smaller of two, which may differ from what is compared by the same constant.
        distance = (first - x).constant
        if distance is not None and (second - y).constant == distance:
            smaller = predicate[1] == "l"
        else:
            distance = (first - y).constant
            if distance is None or (second - x).constant != distance:
                return None
            smaller = predicate[1] == "g"
        return minimum([first, second]) if smaller else maximum([first, second])

    def _call(self, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
        name = value.callee_name or ""
        for stem, take in (("min", minimum), ("max", maximum)):
            if name.startswith(f"llvm.{'s' if signed else 'u'}{stem}."):
                return take([self._in(scope, value, v, signed) for v in value.args])
        if name.startswith("llvm.abs.") and signed and getattr(value.args[1], "value", 0) == 1:
            inner = self._in(scope, value, value.args[0])
            return maximum([inner, -inner])
        child = scope.child(value)
        if child is not None:
            returns = [b.terminator for b in child.function.blocks if b.terminator.op == "ret"]
            if len(returns) == 1 and returns[0].operands:
                assert returns[0].block is not None
                found = self.at(child, returns[0].operands[0], returns[0].block, signed)
                here = scope.loop_of(value.block) if value.block is not None else None
                if all(s.loop is None or s.loop.contains(here) for s in found.symbols()):
                    return found
        return None

    # φs.

    def _phi(self, scope: Scope, phi: Instruction, signed: bool) -> Expression | None:
        assert phi.block is not None
        loop = self._headed(scope, phi.block)
        if loop is not None:
            return self._recurrence(scope, phi, loop, signed)
        found: Expression | None = None
        for value in phi.operands:
            one = self.at(scope, value, phi.block, signed)
            if found is not None and one != found:
                return None
            found = one
        return found

    def _headed(self, scope: Scope, block: BasicBlock) -> LoopContext | None:
        loop = scope.forest.headed_by[scope.view.index[block]]
        return None if loop is None else scope.loops[loop]

    def counts(self, loop: LoopContext, phi: Instruction) -> bool:
        """Whether a φ of the loop's header grows by the same amount in every iteration, exactly in some reading."""
        return any(self._recurrence(loop.scope, phi, loop, signed) is not None for signed in (True, False))

    def _recurrence(
        self, scope: Scope, phi: Instruction, loop: LoopContext, signed: bool
    ) -> Expression | None:
        """``start + step·iteration``, where that is exact in the reading that is asked for."""
        updates = {v for v, b in phi.incoming() if scope.view.index[b] in loop.loop.blocks}
        starts = {v for v, b in phi.incoming() if scope.view.index[b] not in loop.loop.blocks}
        if len(updates) != 1 or len(starts) != 1 or loop.loop.is_irreducible:
            return None
        (update,), (start,) = updates, starts
        steps = self._steps(scope, update, phi, loop)
        if steps is None:
            return None
        step, flags = steps
        first = self._in(scope, phi, start, signed)
        if isinstance(phi.type, IntType) and not self._counts_exactly(
            scope, phi, loop, step, flags, signed, first
        ):
            return None
        return first + step * as_expression(loop.iteration)

    def _counts_exactly(
        self,
        scope: Scope,
        phi: Instruction,
        loop: LoopContext,
        step: Expression,
        flags: frozenset[str],
        signed: bool,
        first: Expression,
    ) -> bool:
        if ("nsw" if signed else "nuw") in flags:
            return True
        counted = loop.counted
        tested = (
            counted.predicate[0] if isinstance(counted, CountedLoop) and counted.counter.phi is phi else ""
        )
        if tested == ("s" if signed else "u"):
            return True
        assert isinstance(phi.type, IntType)
        other = self._nonwrapping_other(phi, loop, flags, signed)
        interval = scope.ranges.of(phi)
        if other and interval is not None and interval[0] >= 0:
            return True
        if not signed and other and step.constant is not None and step.offset >= 0:
            low = numeric_bound(first, upper=False)
            if low is not None and low >= 0:
                return True
        if phi.type.bits == 64:
            self.program.assume(
                phi,
                "wrap",
                f"{value_name(phi)} does not count beyond 63 bits",
                line_of(phi) or line_of(loop.header.terminator),
                Obligation(first + step * as_expression(loop.iteration), loop.header),
            )
            return True
        return False

    def _nonwrapping_other(
        self, phi: Instruction, loop: LoopContext, flags: frozenset[str], signed: bool
    ) -> bool:
        """Whether the other reading counts without wrapping around."""
        if ("nuw" if signed else "nsw") in flags:
            return True
        counted = loop.counted
        return (
            isinstance(counted, CountedLoop)
            and counted.counter.phi is phi
            and counted.predicate.startswith("u" if signed else "s")
        )

    def _steps(
        self, scope: Scope, value: Value, phi: Instruction, loop: LoopContext
    ) -> tuple[Expression, frozenset[str]] | None:
        """What is added to a φ in an iteration, and the flags that all additions have."""
        total = as_expression(0)
        flags = frozenset(("nsw", "nuw"))
        for _ in range(MAX_DEPTH):
            if value is phi:
                return total, flags
            if not isinstance(value, Instruction):
                return None
            op, operands = value.op, value.operands
            if op in ("add", "sub"):
                a, b = operands
                own = frozenset(value.flags)
                if op == "sub" or (isinstance(b, ConstInt) and b.signed < 0):
                    # An unsigned number that falls does so by wrapping around, whatever the flag says.
                    own -= {"nuw"}
                flags &= own
                if op == "add" and not self._varies(b, scope, loop):
                    value, added, sign = a, b, 1
                elif op == "add" and not self._varies(a, scope, loop):
                    value, added, sign = b, a, 1
                elif op == "sub" and not self._varies(b, scope, loop):
                    value, added, sign = a, b, -1
                else:
                    return None
                total = total + self.at(scope, added, loop.header) * sign
                continue
            if op == "getelementptr" and not value.type.is_vector:
                address = decompose(operands, value.source_type, self.program.module.layout)
                if any(self._varies(i, scope, loop) for i in address.indices):
                    return None
                total = total + address.offset
                for index, scale in zip(address.indices, address.scales, strict=True):
                    total = total + self.at(scope, index, loop.header) * scale
                value = address.base
                continue
            if op == "phi" and len(set(operands)) == 1:
                value = operands[0]
                continue
            return None
        return None

    def _varies(self, value: Value, scope: Scope, loop: LoopContext) -> bool:
        return (
            isinstance(value, Instruction)
            and value.block is not None
            and loop.contains(scope.loop_of(value.block))
        )

    # Memory and addresses.

    def _address(self, scope: Scope, value: Value) -> Expression:
        """A pointer: a symbol for where an object begins, and an offset in bytes."""
        op = getattr(value, "op", None)
        if op == "getelementptr" and not value.type.is_vector:
            assert isinstance(value, Instruction | ConstExpr)
            address = decompose(value.operands, value.source_type, self.program.module.layout)
            block = value.block if isinstance(value, Instruction) else None
            total = as_expression(address.offset)
            for part, scale in ((address.base, 1), *zip(address.indices, address.scales, strict=True)):
                number = self.of(scope, part) if block is None else self.at(scope, part, block)
                total = total + number * scale
            return total
        if op in ("bitcast", "addrspacecast", "freeze"):
            assert isinstance(value, Instruction | ConstExpr)
            if isinstance(value, Instruction):
                return self._in(scope, value, value.operands[0])
            return self.of(scope, value.operands[0])
        if isinstance(value, Instruction):
            if op == "phi":
                found = self._phi(scope, value, True)
                if found is not None:
                    return found
            elif op == "load":
                found = self._load(scope, value, True)
                if found is not None:
                    return found
            elif op == "call":
                found = self._call(scope, value, True)
                if found is not None:
                    return found
            elif op == "select":
                a, b = (self._in(scope, value, v) for v in value.operands[1:])
                if a == b:
                    return a
        return as_expression(self.symbol(scope, value, True))

    def _load(self, scope: Scope, load: Instruction, signed: bool) -> Expression | None:
        """A load that reads the same wherever it stands in the largest loop that does not write there."""
        assert load.block is not None
        if not load.is_plain_access:
            return None
        address = self._in(scope, load, load.pointer)
        region: LoopContext | Scope | None = None
        around = scope.loop_of(load.block)
        # Not written in the whole function that is looked at, or in loops of this one from the innermost outwards.
        top = scope
        while top.parent is not None:
            top = top.parent
        if self.invariants.is_unwritten(load, scope, top):
            region = top
        else:
            loop = around
            while (
                loop is not None and loop.scope is scope and self.invariants.is_unwritten(load, scope, loop)
            ):
                region, loop = loop, loop.parent
        if region is None:
            return None
        # As far as its address goes: the value may differ wherever that does, and behind the region.
        variant: LoopContext | None = region.parent if isinstance(region, LoopContext) else None
        for symbol in address.symbols():
            if symbol.loop is not None and (variant is None or variant.contains(symbol.loop)):
                variant = symbol.loop
        key = (address, region, load.type, signed)
        known = self.program.shared_loads.get(key)
        if known is None:
            low, high = self._range(scope, load, signed)
            is_pointer = isinstance(load.type, PointerType)
            name, type = self._place(address, load)
            known = self.program.symbol(name, variant, low, high, is_pointer=is_pointer, origin=load)
            self._pointees[known] = target_of(type)
            self.program.shared_loads[key] = known
        return as_expression(known)

    def _place(self, address: Expression, load: Instruction) -> tuple[str, MDNode | None]:
        base = base_of(address)
        if base is None:
            return value_name(load), None
        offset = address - as_expression(base)
        if isinstance(base.origin, GlobalVariable) and offset.constant == 0:
            return base.name, None
        type = self._pointees.get(base)
        if type is None and isinstance(base.origin, Value):
            type = pointee_of(base.origin)
        if offset.constant is None:
            element = self.program.module.layout.store_size(load.accessed_type)
            return f"{base.name}[{floor_division(offset, element)}]", type
        return place_name(base.name, type, offset.offset)

    def symbol(self, scope: Scope, value: Value, signed: bool) -> Symbol:
        """The symbol for a value of which no more is known."""
        if not signed:
            low = self._range(scope, value, True)[0]
            signed = isinstance(value.type, PointerType) or (low is not None and low >= 0)
        key = (scope, value, signed)
        known = self._symbols.get(key)
        if known is None:
            low, high = self._range(scope, value, signed)
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

    def _range(self, scope: Scope, value: Value, signed: bool) -> tuple[int | None, int | None]:
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

    # Facts.

    def facts(self, scope: Scope, block: BasicBlock) -> Facts:
        """What holds in a block, in this context: conditions on the way, and of loops around it."""
        key = (scope, block)
        known = self._facts.get(key)
        if known is None:
            self._facts[key] = Facts()
            asked = self._unfinished
            inequalities = self._guard_facts(scope, block)
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

    def _guard_facts(self, scope: Scope, block: BasicBlock) -> list[Expression]:
        found: list[Expression] = []
        for guard in scope.guards(block):
            found += self.guard_inequalities(scope, guard)
        return found

    def guard_inequalities(self, scope: Scope, guard: Guard) -> list[Expression]:
        """What a comparison says that held, or did not."""
        compare = guard.value
        assert isinstance(compare, Instruction)
        predicate = holding_predicate(guard)
        if not isinstance(compare.operands[0].type, IntType | PointerType):
            return []
        is_pointer = isinstance(compare.operands[0].type, PointerType)
        signed = predicate[0] != "u" or is_pointer
        a, b = (self.at(scope, v, guard.block, signed) for v in compare.operands)
        if is_pointer and (base_of(a) is None or base_of(a) is not base_of(b)):
            return []
        kind = predicate[1:] if predicate[0] in "su" else predicate
        match kind:
            case "lt":
                return [b - a - 1]
            case "le":
                return [b - a]
            case "gt":
                return [a - b - 1]
            case "ge":
                return [a - b]
            case "eq":
                return [a - b, b - a]
            case _:
                return self._different(scope, guard, compare, a, b)

    def _different(
        self, scope: Scope, guard: Guard, compare: Instruction, a: Expression, b: Expression
    ) -> list[Expression]:
        """What ``a != b`` says: at the end of a range, or as the test of a loop that counts up or down to it."""
        loop = scope.loop_of(guard.block)
        # The test that the loop is left by, not another one in the same block.
        is_exit = loop is not None and scope.view.index[guard.block] in loop.loop.exiting
        if loop is not None and loop.scope is scope and is_exit and guard.block is loop.header:
            for x, y in ((a, b), (b, a)):
                steps = x.coefficients(loop.iteration)
                if len(steps) != 2 or any(loop.contains(s.loop) for s in y.symbols()):
                    continue
                step = steps[1].constant
                room = y - steps[0]
                if step and not any(c % step for c in room.terms.values()):
                    # It is reached from one side only; else the counter would wrap around on its way.
                    room, left = (room, y - x) if step > 0 else (-room, x - y)
                    known = Facts(self._guard_facts(scope, guard.block))
                    if not known.is_nonnegative(room):
                        self._assume_order(compare, Obligation(room, guard.block, True))
                    return [left - abs(step)]
        for x, y in ((a, b), (b, a)):
            low = numeric_bound(x - y, upper=False)
            if low is not None and low >= 0:
                return [x - y - 1]
        return []

    def _assume_order(self, value: Instruction, obligation: Obligation) -> None:
        text = "the loop begins before the end that it is tested for"
        self.program.assume(value, "wrap", text, line_of(value), obligation)

    def _loop_facts(self, loop: LoopContext) -> list[Expression]:
        """What the test at the bottom of a loop says of the iterations behind the first."""
        trips = self.trip_count(loop)
        if trips is None or self.is_tested_first(loop):
            return []
        return [trips - 1 - as_expression(loop.iteration)]

    # Sets of expressions.

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
        found = self._possible(scope, value, signed, frozenset() if whole is None else frozenset((whole,)))
        return (self.of(scope, value, signed),) if found is None else tuple(found)

    def _possible(
        self, scope: Scope, value: Value, signed: bool, active: frozenset[Value]
    ) -> dict[Expression, None] | None:
        own = self.of(scope, value, signed)
        if not isinstance(value, Instruction) or value in active or len(active) > MAX_POSSIBLE:
            return {own: None}
        if value.op in ("phi", "select") and own == as_expression(self.symbol(scope, value, signed)):
            operands = value.operands[1:] if value.op == "select" else value.operands
            return self._union(scope, operands, signed, active | {value})
        if value.op == "getelementptr" and not value.type.is_vector:
            bases = self._possible(scope, value.operands[0], True, active | {value})
            base = self.of(scope, value.operands[0])
            return None if bases is None else {b + (own - base): None for b in bases}
        if value.op in ("add", "sub", "sext", "freeze", "zext") and isinstance(value.type, IntType):
            return self._combined(scope, value, own, signed, active | {value})
        return {own: None}

    def _combined(
        self, scope: Scope, value: Instruction, own: Expression, signed: bool, active: frozenset[Value]
    ) -> dict[Expression, None] | None:
        """The set of a sum whose operands have sets."""
        readings = [self.of(scope, v, signed) for v in value.operands]
        found = {own: None}
        for operand, reading in zip(value.operands, readings, strict=True):
            sets = self._possible(scope, operand, signed, active)
            if sets is None:
                return None
            if len(sets) == 1:
                continue
            slope = -1 if value.op == "sub" and operand is value.operands[1] else 1
            if value.op in ("sext", "zext") and own != reading:
                return {own: None}
            found = {e + (s - reading) * slope: None for e in found for s in sets}
        return found if len(found) <= MAX_POSSIBLE else None

    def _union(
        self, scope: Scope, values: list[Value], signed: bool, active: frozenset[Value]
    ) -> dict[Expression, None] | None:
        found: dict[Expression, None] = {}
        for value in values:
            one = self._possible(scope, value, signed, active)
            if one is None or len(found) + len(one) > MAX_POSSIBLE:
                return None
            found.update(one)
        return found


def base_of(address: Expression) -> Symbol | None:
    """The object that an address is in: its one pointer."""
    found: Symbol | None = None
    for monomial, coefficient in address.terms.items():
        if any(isinstance(a, Symbol) and a.is_pointer for a in monomial):
            if found is not None or len(monomial) != 1 or coefficient != 1:
                return None
            assert isinstance(monomial[0], Symbol)
            found = monomial[0]
    return found
