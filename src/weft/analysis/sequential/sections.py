"""What a loop takes and gives (Juravle, §4.2): inputs, outputs, and the bytes of each array that it touches.

A section is the half-open interval of bytes, from where the array's pointer leads to, in which all accesses of the
loop lie: the least offset, and the greatest with the size of the access, after the iterations of the loop and of
those inside are eliminated. (The thesis ends at the greatest offset, which loses the bytes of the last element.) If
the loop does not run, nothing is touched, whatever the section says.

Guards: a value that is compared on the way to an access is put into the address as a symbol of its own, with the bounds
of the comparison. So ``in[py*w + px]`` under ``0 <= px && px < w && 0 <= py && py < h`` is from 0 to ``w*h``, where the
loops alone give the border of a convolution too.

An access of an array that the same iteration has surely written before is no input.
"""

from __future__ import annotations

from msgspec import Struct, field

from weft.analysis.sequential.accesses import Access, Accesses, Opaque
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression
from weft.analysis.symbolic.extent import bound_of, weakest
from weft.analysis.symbolic.facts import Facts
from weft.ir import Argument, ConstInt, Instruction, Value
from weft.ir.types import FloatType, IntType

_NO_ADDRESS = 1 << 62
"""Bounds beyond it say no more than the type of an index does."""

MAX_GUARDED = 6
"""Comparisons that are used to tighten one section."""


class Section(Struct):
    """The bytes of an object that a loop reads or writes.

    Parameters
    ----------
    base
        The pointer to it.
    low, end
        The first byte, and that behind the last; None where they are not known.
    accesses
        What touches it.
    """

    base: Symbol
    low: Expression | None
    end: Expression | None
    accesses: list[Access] = field(default_factory=list)


class Parameters(Struct, frozen=True):
    """Inputs and outputs of a loop.

    Parameters
    ----------
    inputs, outputs
        Arrays with their sections, in the order of the program.
    scalars
        Names of numbers from outside that the loop uses.
    private
        Names of objects that are an iteration's own.
    functions
        Names of the functions that the loop calls.
    is_complete
        Whether all of the loop's accesses are known.
    """

    inputs: tuple[Section, ...]
    outputs: tuple[Section, ...]
    scalars: tuple[str, ...]
    private: tuple[str, ...]
    functions: tuple[str, ...]
    is_complete: bool


def parameters_of(accesses: Accesses, loop: LoopContext, private: frozenset[Symbol]) -> Parameters:
    """Find what a loop takes and gives."""
    found = accesses.of(loop)
    inputs: dict[Symbol, Section] = {}
    outputs: dict[Symbol, Section] = {}
    is_complete = True
    plain = [a for a in found if isinstance(a, Access)]
    entry = Facts(
        e
        for g in loop.scope.guards(loop.header)
        for e in accesses.reconstruction.guard_inequalities(loop.scope, g)
    )
    for access in plain:
        base = access.base
        if base is None or (loop.contains(base.loop) and not _is_local(base)):
            is_complete = False
            continue
        if base in private or (_is_local(base) and loop.contains(base.loop)):
            continue
        if access.is_write or not _is_written_before(access, plain):
            low, end = section_of(accesses, access, loop)
            _add(outputs if access.is_write else inputs, access, base, low, end, entry)
    is_complete &= not any(isinstance(a, Opaque) for a in found)
    names = tuple(dict.fromkeys(s.name for s in sorted(private, key=lambda s: s.rank)))
    return Parameters(
        tuple(inputs.values()),
        tuple(outputs.values()),
        _scalars(accesses, loop),
        names,
        _functions(loop),
        is_complete,
    )


def section_of(
    accesses: Accesses, access: Access, loop: LoopContext
) -> tuple[Expression | None, Expression | None]:
    """The bytes that one access touches in all iterations of a loop."""

    def is_eliminated(symbol: Symbol) -> bool:
        return symbol.loop is not None and loop.contains(symbol.loop)

    guarded = _guarded(accesses, access)
    ends: list[Expression | None] = []
    for upper in (False, True):
        found: Expression | None = None
        for offset, facts in guarded if guarded[0][0] != access.offset else guarded[1:]:
            value = offset + access.size if upper else offset
            found = bound_of(value, is_eliminated, facts, upper=upper)
            if found is not None and abs(found.offset) < _NO_ADDRESS:
                break
            found = None
        ends.append(found)
    return ends[0], ends[1]


def _guarded(accesses: Accesses, access: Access) -> list[tuple[Expression, Facts]]:
    """The offset in values that are compared on the way to the access, with what is known of them; and as it is."""
    made, scope = accesses.reconstruction, access.scope
    offset = access.offset
    replaced: dict[Atom, Expression] = {}
    known: list[Expression] = []
    guards = [g for g in scope.guards(access.block) if isinstance(g.value, Instruction)]
    values: dict[Value, None] = {}
    for guard in guards:
        assert isinstance(guard.value, Instruction)
        for operand in guard.value.operands:
            if isinstance(operand, Instruction) and isinstance(operand.type, IntType):
                values[operand] = None
    used_values = 0
    for value in values:
        expression = made.at(scope, value, access.block).substitute(replaced)
        varying = [a for a in expression.atoms() if isinstance(a, Symbol) and a.loop is not None]
        if len(varying) < 2 or used_values == MAX_GUARDED:
            continue
        used_values += 1
        # The value takes the place of that symbol in it which is eliminated first.
        first = varying[0]
        slope = expression.coefficients(first)
        used = offset.coefficients(first)
        if len(slope) != 2 or len(used) != 2 or slope[1].constant is None:
            continue
        number = slope[1].constant
        if any(c % number for c in used[1].terms.values()):
            continue
        # All values are multiples of what divides the varying part, and a constant.
        unit = expression.content()
        symbol = made.program.symbol(value.name, scope.loop_of(access.block))
        stand_in = as_expression(symbol) * unit + expression.offset
        factor = Expression({m: c // number for m, c in used[1].terms.items()})
        offset = used[0] + factor * (stand_in - slope[0])
        known += _bounds(accesses, access, value, stand_in)
        if number in (1, -1):
            replaced[first] = (stand_in - slope[0]) * number
    return [(offset, access.facts.also(known)), (access.offset, access.facts)]


def _bounds(accesses: Accesses, access: Access, value: Value, stand_in: Expression) -> list[Expression]:
    """What comparisons of a value say of what stands for it."""
    made, scope = accesses.reconstruction, access.scope
    expression = made.at(scope, value, access.block)
    found: list[Expression] = []
    for guard in scope.guards(access.block):
        assert isinstance(guard.value, Instruction)
        if value in guard.value.operands:
            for inequality in made.guard_inequalities(scope, guard):
                # The comparison is linear in the value itself.
                for sign in (1, -1):
                    rest = inequality - expression * sign
                    if not rest.symbols() & {s for s in expression.symbols() if s.loop is not None}:
                        found.append(rest + stand_in * sign)
    return found


def _add(
    into: dict[Symbol, Section],
    access: Access,
    base: Symbol,
    low: Expression | None,
    end: Expression | None,
    facts: Facts,
) -> None:
    section = into.get(base)
    if section is None:
        into[base] = Section(base, low, end, [access])
        return
    section.accesses.append(access)
    section.low = (
        None if section.low is None or low is None else weakest([section.low, low], facts, upper=False)
    )
    section.end = (
        None if section.end is None or end is None else weakest([section.end, end], facts, upper=True)
    )


def _is_local(base: Symbol) -> bool:
    return isinstance(base.origin, Instruction) and base.origin.op == "alloca"


def _is_written_before(read: Access, all: list[Access]) -> bool:
    """Whether an iteration surely writes what it reads here, before."""
    for write in all:
        if not write.is_write or write.base is not read.base or write.scope is not read.scope:
            continue
        if (
            write.offset != read.offset
            or write.size != read.size
            or write.loop is not read.loop
            or not write.is_certain
        ):
            continue
        if write.block is read.block:
            body = read.block.instructions
            if body.index(write.instruction) < body.index(read.instruction):
                return True
        elif read.scope.dominates(write.block, read.block):
            return True
    return False


def _scalars(accesses: Accesses, loop: LoopContext) -> tuple[str, ...]:
    """The numbers from outside that a loop uses, in its own function."""
    made, scope = accesses.reconstruction, loop.scope
    inside = set(loop.blocks)
    names: dict[str, None] = {}
    for block in loop.blocks:
        for instruction in block.instructions:
            for value in instruction.operands:
                if not isinstance(value.type, IntType | FloatType) or isinstance(value, ConstInt):
                    continue
                if isinstance(value, Argument):
                    names[made.symbol(scope, value, True).name] = None
                elif isinstance(value, Instruction) and value.block not in inside:
                    for symbol in _outer_symbols(accesses, loop, value):
                        names[symbol] = None
    return tuple(names)


def _outer_symbols(accesses: Accesses, loop: LoopContext, value: Instruction) -> list[str]:
    """The names behind a number that is computed before a loop."""
    made = accesses.reconstruction
    if not isinstance(value.type, IntType):
        return [made.symbol(loop.scope, value, True).name]
    found = made.at(loop.scope, value, loop.header)
    return [s.name for s in sorted(found.symbols(), key=lambda s: s.rank) if not s.is_pointer]


def _functions(loop: LoopContext) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for block in loop.blocks:
        for instruction in block.instructions:
            name = instruction.callee_name
            if instruction.op == "call" and name and not name.startswith("llvm."):
                names[name] = None
    return tuple(names)
