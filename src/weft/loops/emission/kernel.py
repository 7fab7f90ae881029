"""What a kernel takes: its arrays and numbers, how their elements are indexed, and the names of all that is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from weft.analysis.memory.alias import locate
from weft.analysis.sequential.accesses import Access
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, line_of
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.diag.errors import EmissionError
from weft.ir import Argument, BasicBlock, Instruction, Value
from weft.ir.effects import is_speculatable
from weft.ir.locations import span_of
from weft.ir.types import FloatType, IntType, PointerType, Type
from weft.loops.emission.loop_kinds import LoopKinds, loop_kinds
from weft.loops.emission.nests import Form, Nest, accesses_of
from weft.loops.emission.parameters import (
    ArrayParameter,
    NumberParameter,
    element_reading,
    legal,
    reading_of,
)
from weft.loops.emission.subscripts import Shape, subscripts
from weft.loops.emission.tree import Node, Variable
from weft.loops.emission.values import Values
from weft.loops.emission.variables import Variables
from weft.report.loops.counters import counter_of

_PURE = {
    "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "select", "sext", "zext", "trunc",
    "fptrunc", "fpext", "sitofp", "uitofp", "fadd", "fsub", "fmul", "fdiv", "fneg", "freeze",
}  # fmt: skip
_SAFE = {"sdiv", "udiv", "srem", "urem", "fptosi", "fptoui", "call"}
"""These are, where they do not trap."""


@dataclass(slots=True)
class KernelParts:
    """A kernel that is being made.

    Parameters
    ----------
    nest
        The loop.
    shapes
        The dimensions of arrays by their names, for languages that have them.
    hint
        What errors say to do.
    unsigned
        Whether arrays are of unsigned integers, where that is known.
    reserved
        Names that nothing in the program gets.
    has_signed_overflow
        Whether the language defines what signed numbers are that leave their width.
    keeps_numbers
        Whether floats that are computed before the nest are given; else the kernel computes them.
    """

    nest: Nest
    shapes: Mapping[str, Shape]
    hint: str
    unsigned: Mapping[str, bool] = field(default_factory=dict)
    reserved: Iterable[str] = ()
    has_signed_overflow: bool = True
    keeps_numbers: bool = False
    loose: frozenset[Instruction] = field(init=False)
    kinds: LoopKinds = field(init=False)
    variables: Variables = field(init=False)
    place: BasicBlock = field(init=False)
    iterations: dict[LoopContext, Node] = field(default_factory=dict)
    arrays: dict[Symbol, ArrayParameter] = field(default_factory=dict)
    numbers: dict[Symbol, NumberParameter] = field(default_factory=dict)
    inside: frozenset[BasicBlock] = field(init=False)
    written: frozenset[BasicBlock] = field(init=False)
    values: Values = field(init=False)
    found: str = field(init=False)
    results: dict[Instruction, Variable] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _variables: dict[int, Variable] = field(default_factory=dict)
    _made: dict[Instruction, Variable] = field(default_factory=dict)
    _accessed: dict[Instruction, Symbol] = field(default_factory=dict)
    _fixed: set[Instruction] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._names.update(self.reserved)
        # In another order they may leave their width on the way, whatever the program promises.
        combining = (o for g in self.nest.groups for o in g.operations)
        self.loose = frozenset() if self.has_signed_overflow else frozenset(combining)
        self.kinds = loop_kinds(self.nest)
        self.inside = frozenset(self.nest.loop.blocks)
        self.written = frozenset(self.nest.blocks)
        self.place = self.nest.loop.header
        self.values = Values(self)
        self._find_arrays()
        function = self.nest.loop.scope.function
        for argument in function.args:
            self._names.add(legal(argument.name.split(".")[0]))
        self.found = self.unique("found") if self.nest.form is Form.SEARCH else ""
        self.variables = Variables(self.nest, self.kinds, self.unique)

    @property
    def made(self) -> Reconstruction:
        return self.nest.accesses.reconstruction

    def unique(self, name: str) -> str:
        """A name like `name` that nothing in the kernel has."""
        stem = legal(name)
        found, number = stem, 2
        while found in self._names:
            found, number = f"{stem}{number}" if not stem[-1].isdigit() else f"{stem}_{number}", number + 1
        self._names.add(found)
        return found

    def variable(self, value: Instruction) -> Variable | None:
        """The variable of a value, None where it has none."""
        if value in self._fixed:
            return None
        if value in self._made:
            return self._made[value]
        number = self.variables.named.get(value)
        if number is None:
            return None
        if number not in self._variables:
            members = [v for v, n in self.variables.named.items() if n == number]
            reading = "s" if not isinstance(value.type, IntType) else reading_of(members, self.loose)
            self._variables[number] = Variable(self.variables.names[number], value.type, reading)
        return self._variables[number]

    def make_variable(self, phi: Instruction) -> Variable:
        """A variable for a counter of the grid that is not planned as one."""
        name = value_name(phi)
        self._made[phi] = Variable(self.unique(name if name.isidentifier() else "i"), phi.type, "s")
        return self._made[phi]

    def is_counter(self, phi: Instruction) -> bool:
        """Whether a loop itself, or the grid, gives a φ its values."""
        return any(c.phi is phi for c in self.kinds.counting.values()) or (
            phi not in self.nest.kept and any(phi.block is loop.header for loop in self.kinds.grid)
        )

    def is_computed(self, value: Value) -> bool:
        """Whether a value of the nest is computed by what is written of it."""
        return isinstance(value, Instruction) and value.block in self.written and value not in self._fixed

    def symbol(self, symbol: Symbol) -> Node | None:
        """The expression of the number of an iteration, None for other symbols."""
        if isinstance(symbol.origin, LoopContext):
            known = self.iterations.get(symbol.origin)
            if known is not None:
                return known
            counting = self.kinds.counting.get(symbol.origin)
            if counting is not None and counting.step == 1 and getattr(counting.start, "value", None) == 0:
                variable = self.variable(counting.phi)
                return None if variable is None else variable.node
            if symbol.origin.contains(self.nest.loop) and symbol.origin is not self.nest.loop:
                return self._outer_iteration(symbol.origin)
        return None

    def _outer_iteration(self, loop: LoopContext) -> Node | None:
        """The number of the iteration of a loop around the nest."""
        counter = counter_of(self.made, loop)
        if counter is None or abs(counter[2]) != 1:
            return None
        phi, start, step = counter
        ends = (self.outer(phi), self.values.number(start, phi.type, loop.header.terminator))
        if step > 0 and ends[1].op == "int" and ends[1].number == 0:
            return replace(ends[0], is_nonnegative=True)
        return Node("-", IntType(64), ends if step > 0 else ends[::-1], is_nonnegative=True)

    def outer(self, value: Value) -> Node:
        """The expression of a value from outside of the nest."""
        if self.keeps_numbers and isinstance(value.type, FloatType):
            return self.number(value)
        if isinstance(value, Instruction) and (
            value.op in _PURE or (value.op in _SAFE and is_speculatable(value))
        ):
            return self.values.operation(value)
        if isinstance(value.type, PointerType) or not isinstance(value.type, IntType | FloatType):
            raise self.values.error(value, "an address is used for something else than an access")
        return self.number(value)

    def number(self, value: Value) -> Node:
        """A value from outside as a number that is given."""
        scope = self.nest.loop.scope
        if isinstance(value, Argument):
            stem = value.name.split(".")[0]
            if stem in self.shapes and "." in value.name:
                # Sizes come with the array.
                text = re.sub(r"^([^.]*)\.(\w+)\.(\d+)$", r"\1.\2[\3]", value.name)
                return Node("name", value.type, text=f"{legal(stem)}{text[len(stem) :]}")
        # What is loaded several times is one number.
        known = self.made.of(scope, value).symbols() if isinstance(value.type, IntType) else set()
        symbol = next(iter(known)) if len(known) == 1 else self.made.symbol(scope, value, True)
        if symbol not in self.numbers:
            text, stem = symbol.name.removeprefix("#"), symbol.name
            if isinstance(value, Instruction) and (
                value.op == "call" or (value.is_phi and isinstance(symbol.origin, LoopContext))
            ):
                # What a function that is called has another name for, or the number of an iteration.
                text = stem = value_name(value)
            if isinstance(value, Instruction) and value.op == "load" and not legal(text).strip("_0123456789"):
                array = value_name(locate(value.pointer, self.made.program.module.layout).base)
                text, stem = f"the element of {array} that line {line_of(value)} reads", f"{array}_element"
            if isinstance(value, Argument):
                name = legal(text) if "." not in text and "[" not in text else self.unique(text)
                self._names.add(name)
                order = (value.index, name)
            else:
                name = self.unique(stem)
                order = (len(scope.function.args), name)
            self.numbers[symbol] = NumberParameter(name, value.type, text, order, value)
        return Node("name", value.type, text=self.numbers[symbol].name)

    def element(self, access: Instruction) -> Node:
        """The element that a load or store accesses, or the number that a load of the program's variables gives."""
        if access in self._fixed:
            return self.number(access)
        array = self.arrays[self._accessed[access]]
        layout = self.made.program.module.layout
        if locate(access.pointer, layout).base is not array.base.origin:
            (found,) = accesses_of(self.nest)[access]
            return self._by_offset(found, array)
        found = subscripts(access, array.shape, layout, array.element)
        if isinstance(found, str):
            raise self.values.error(access, found)
        args = tuple(self._index(terms) for terms in found)
        return Node("index", access.accessed_type, args, array.name, reading=array.reading)

    def first_element(self, access: Access) -> Node:
        """An element that is read before the loop, of an array that the loop accesses."""
        array = None if access.base is None else self.arrays.get(access.base)
        if array is None or array.element != access.instruction.accessed_type:
            raise self.values.error(
                access.instruction, "what is read before the loop is no element of its arrays"
            )
        return self._by_offset(access, array)

    def _by_offset(self, found: Access, array: ArrayParameter) -> Node:
        """An element by where it is in the array, as of accesses through a pointer that moves along it."""
        access = found.instruction
        size = self.made.program.module.layout.store_size(array.element)
        rows = array.shape is not None and (array.shape.ndim > 1 or not array.shape.is_contiguous)
        if rows or any(c % size for c in found.offset.terms.values()):
            raise self.values.error(access, "it is not known which element this accesses")
        index = Expression({m: c // size for m, c in found.offset.terms.items()})
        place = self.values.number(index, IntType(64), access)
        return Node("index", access.accessed_type, (place,), array.name, reading=array.reading)

    def _index(self, terms: list[tuple[Value | None, int]]) -> Node:
        """A sum of multiples of values."""
        i64 = IntType(64)
        total: Node | None = None
        parts: list[tuple[Node, int]] = []
        for value, scale in terms:
            if value is None:
                part = Node("int", i64, number=abs(scale), is_nonnegative=True)
            else:
                part = self.values.signed(self.values.of(value))
                if abs(scale) != 1:
                    part = Node("*", i64, (part, Node("int", i64, number=abs(scale), is_nonnegative=True)))
            parts.append((part, scale))
        # Rows before columns before constants, and what is subtracted last.
        for part, scale in sorted(parts, key=lambda p: (p[1] < 0, p[0].op == "int", p[0].op != "*")):
            if total is None:
                total = part if scale >= 0 else Node("neg", i64, (part,))
            else:
                total = Node("+" if scale >= 0 else "-", i64, (total, part))
        return total or Node("int", i64, number=0, is_nonnegative=True)

    def _find_arrays(self) -> None:
        types: dict[Symbol, set[Type]] = {}
        loads: dict[Symbol, list[Instruction]] = {}
        for instruction, accesses in accesses_of(self.nest).items():
            if instruction.block not in self.written and self.nest.opaque:
                continue
            if self.nest.form is Form.HOST and not self.nest.needed:
                if not self._is_fixed(instruction):
                    raise self._error(instruction, "elements are read or written between kernels")
                self._fixed.add(instruction)
                continue
            bases = {a.base for a in accesses}
            base = bases.pop()
            if bases or base is None or base.loop is not None or not instruction.is_plain_access:
                raise self._error(instruction, "it is not known which array this accesses")
            if isinstance(base.origin, Instruction) and base.origin.op == "alloca":
                raise self._error(instruction, f"{base.name} is an array of the function's own")
            if accesses[0].scope is not self.nest.loop.scope:
                raise self._error(instruction, "a function that is called accesses memory")
            self._accessed[instruction] = base
            types.setdefault(base, set()).add(instruction.accessed_type)
            loads.setdefault(base, []).append(instruction)
        for base, found in types.items():
            fixed = [i for i in loads[base] if self._is_fixed(i)]
            if len(found) > 1 or isinstance(next(iter(found)), PointerType):
                # Fields of a structure, which the loop does not change.
                for instruction in loads[base]:
                    is_pointer = isinstance(instruction.type, PointerType) and instruction.op == "load"
                    if is_pointer or instruction in fixed:
                        self._fixed.add(instruction)
                    else:
                        raise self._error(instruction, f"{base.name} has elements of several types")
                continue
            (element,) = found
            if not isinstance(element, FloatType) and not (
                isinstance(element, IntType) and element.bits in (8, 16, 32, 64)
            ):
                raise self._error(loads[base][0], f"elements of {base.name} are no numbers")
            if isinstance(element, FloatType) and element.kind not in ("float", "double"):
                raise self._error(loads[base][0], f"elements of {base.name} have a type that kernels lack")
            stem = base.name.split(".")[0]
            shape = self.shapes.get(stem)
            is_unsigned = self.unsigned.get(stem) if shape is None else shape.is_unsigned
            reading = element_reading(element, loads[base], is_unsigned)
            if shape is not None and shape.itemsize != self.made.program.module.layout.store_size(element):
                raise self._error(loads[base][0], f"elements of {base.name} are no numbers")
            order = (
                base.origin.index
                if isinstance(base.origin, Argument)
                else len(self.nest.loop.scope.function.args)
            )
            written = any(i.op == "store" for i in loads[base])
            self.arrays[base] = ArrayParameter(
                legal(base.name), base, element, reading, shape, (order, base.name), written
            )
            self._names.add(legal(base.name))

    def _is_fixed(self, instruction: Instruction) -> bool:
        """Whether a load reads a number that the loop does not change."""
        if instruction.op != "load" or not isinstance(instruction.type, IntType):
            return False
        scope = self.nest.loop.scope
        found = self.made.of(scope, instruction)
        return all(not self.nest.loop.contains(s.loop) for s in found.symbols()) and found == as_expression(
            next(iter(found.symbols()), 0)
        )

    def _error(self, instruction: Instruction, reason: str) -> EmissionError:
        return EmissionError(reason, span_of(instruction), self.hint)
