"""Values of a nest as expressions of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from weft.analysis.integers.intervals import Interval
from weft.analysis.symbolic.expression import Expression, Floor, Maximum, Minimum, Symbol, as_expression
from weft.diag.errors import EmissionError
from weft.ir import FALSE, TRUE, ConstFloat, ConstInt, Instruction, Value
from weft.ir.locations import span_of
from weft.ir.types import I1, I64, FloatType, IntType, Type
from weft.loops.emission.negation import negated
from weft.loops.emission.tree import Node

if TYPE_CHECKING:
    from weft.loops.emission.kernel import KernelParts

_FLOAT = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_ORDERED = {"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!="}
_OPPOSITE = {"uge": "<", "ugt": "<=", "ule": ">", "ult": ">=", "one": "ueq", "ueq": "one"}
_INTEGER = {"add": "+", "sub": "-", "mul": "*"}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}

UNARY = {
    "sqrt", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fabs", "floor", "ceil", "trunc", "rint", "cbrt", "erf",
    "erfc", "tgamma", "lgamma",
}  # fmt: skip
BINARY = {"pow", "atan2", "copysign", "fmod", "hypot", "fmin", "fmax"}
"""Functions of C that both languages have."""
_INTRINSICS = {"minnum": "fmin", "maxnum": "fmax", "nearbyint": "rint", "roundeven": "rint"}
_INTEGER_CALLS = {"smin": "min", "smax": "max", "umin": "min", "umax": "max"}


class Values:
    """Makes expressions of the values of a nest."""

    def __init__(self, parts: KernelParts) -> None:
        self._parts = parts
        self._scope = parts.nest.loop.scope

    def of(self, value: Value) -> Node:
        """The expression of a value where it is used.

        Raises
        ------
        EmissionError
            There is none.
        """
        if isinstance(value, ConstInt):
            number = value.signed if value.type is not I1 else value.value
            return Node("int", value.type, number=number, is_nonnegative=number >= 0)
        if isinstance(value, ConstFloat):
            return Node("float", value.type, number=value.value)
        if isinstance(value, Instruction) and value in self._parts.results:
            return self._parts.results[value].node
        if isinstance(value, Instruction) and value.block in self._parts.inside:
            variable = self._parts.variable(value)
            if variable is not None:
                return self._known(variable.node, value)
            if value.is_phi:
                # A second counter of a loop that is a dimension.
                found = self._parts.made.of(self._scope, value)
                if any(s.origin is value for s in found.symbols()):
                    raise self.error(value, "a number is handed from iteration to iteration here")
                return self.number(found, value.type, value)
            return self._known(self.operation(value), value)
        return self._known(self._parts.outer(value), value)

    def condition(self, value: Value, holds: bool = True) -> Node:
        """A truth value, or its opposite."""
        node = self.of(value)
        return node if holds else negated(node)

    def number(self, value: Expression, type: Type, at: Value) -> Node:
        """An expression of the analysis as one of the kernel; `at` is where an error is."""
        total: Node | None = None
        ordered = sorted(value.terms.items(), key=lambda t: (t[1] < 0, -len(t[0]), str(t[0])))
        for monomial, coefficient in ordered:
            node: Node | None = None
            for atom in monomial:
                factor = self._atom(atom, type, at)
                if coefficient < 0 and factor.op == "//":
                    # Rounded to 0 instead it would be greater.
                    factor = replace(factor, text="floor")
                node = factor if node is None else Node("*", type, (node, factor))
            if node is None:
                node = Node("int", type, number=abs(coefficient), is_nonnegative=True)
            elif abs(coefficient) != 1:
                scale = Node("int", type, number=abs(coefficient), is_nonnegative=True)
                node = Node("*", type, (node, scale))
            if total is None:
                total = Node("neg", type, (node,)) if coefficient < 0 else node
            else:
                total = Node("-" if coefficient < 0 else "+", type, (total, node))
        return total or Node("int", type, number=0, is_nonnegative=True)

    def _atom(self, atom: object, type: Type, at: Value) -> Node:
        if isinstance(atom, Symbol):
            node = self._parts.symbol(atom)
            if node is not None:
                return node
            origin = atom.origin
            if isinstance(origin, Instruction) and origin.block not in self._scope.view.index:
                origin = self._returned(atom)
            if isinstance(origin, Value) and not atom.is_pointer:
                node = self.of(origin)
                return node if node.bits == type.bits else Node("widen", type, (node,))  # type: ignore[attr-defined]
        elif isinstance(atom, Floor):
            operands = tuple(self.number(e, type, at) for e in (atom.value, atom.divisor))
            return Node("//", type, operands)
        elif isinstance(atom, Minimum | Maximum):
            operands = tuple(self.number(e, type, at) for e in atom.values)
            return Node("call", type, operands, "min" if isinstance(atom, Minimum) else "max")
        raise self.error(at, f"{atom} is not known in the kernel")

    def _returned(self, symbol: Symbol) -> Instruction | None:
        """The call by which a function that is called gives a number."""
        made, sought = self._parts.made, as_expression(symbol)
        for call in self._scope.function.instructions():
            if call.op == "call" and isinstance(call.type, IntType) and made.of(self._scope, call) == sought:
                return call
        return None

    def stepped(self, thread: Node, start: Node, step: int, type: Type) -> Node:
        """``start + step * thread``, as a number of a type."""
        value = thread
        if abs(step) != 1:
            value = Node("*", I64, (value, Node("int", I64, number=abs(step), is_nonnegative=True)))
        if step < 0:
            value = Node("-", I64, (start, value))
        elif not (start.op == "int" and start.number == 0):
            value = Node("+", I64, (start, value))
        return Node("narrow", type, (value,), reading=start.reading)

    def error(self, at: Value, reason: str) -> EmissionError:
        """An error at the line of an instruction."""
        span = span_of(at) if isinstance(at, Instruction) else None
        return EmissionError(
            reason, span or span_of(self._parts.nest.loop.header.terminator), self._parts.hint
        )

    def _range(self, value: Value) -> Interval | None:
        block = self._parts.place if self._parts.place in self._scope.view.index else None
        return self._scope.ranges.of(value) if block is None else self._scope.ranges.at(value, block)

    def _known(self, node: Node, value: Value) -> Node:
        if node.is_nonnegative or not isinstance(value.type, IntType):
            return node
        found = self._range(value)
        if found is None or found[0] < 0:
            return node
        return Node(node.op, node.type, node.args, node.text, node.number, node.reading, True)

    def _follows_nonnegative(self, value: Value) -> bool:
        """Whether conditions on the way say that a value is not negative as a signed number."""
        block = self._parts.place
        if block not in self._scope.view.index:
            return False
        made = self._parts.made
        return made.facts(self._scope, block).is_nonnegative(made.at(self._scope, value, block))

    def signed(self, node: Node) -> Node:
        """The signed reading of an expression."""
        if node.reading == "s" or node.is_nonnegative or not isinstance(node.type, IntType):
            return node
        if node.op == "int":
            number = int(node.number)
            number -= (1 << node.bits) if number >> (node.bits - 1) else 0
            return Node("int", node.type, number=number, is_nonnegative=number >= 0)
        return Node("signed", node.type, (node,), reading="s")

    def unsigned(self, node: Node) -> Node:
        """The unsigned reading."""
        if node.reading == "u" or node.is_nonnegative or not isinstance(node.type, IntType):
            return node
        if node.op == "int":
            number = int(node.number) & ((1 << node.bits) - 1)
            return Node("int", node.type, number=number, reading="u")
        return Node("unsigned", node.type, (node,), reading="u")

    def operation(self, value: Instruction) -> Node:
        """What an instruction computes."""
        op, type = value.op, value.type
        if op in _FLOAT and isinstance(type, FloatType):
            return Node(_FLOAT[op], type, tuple(self.of(o) for o in value.operands))
        if op == "frem":
            return Node("call", type, tuple(self.of(o) for o in value.operands), "fmod")
        if op == "fneg":
            return Node("neg", type, (self.of(value.operands[0]),))
        if op in _INTEGER or op == "shl":
            return self._arithmetic(value)
        if op in ("sdiv", "srem", "udiv", "urem"):
            return self._division(value)
        if op in ("ashr", "lshr"):
            a, b = (self.of(o) for o in value.operands)
            if op == "ashr":
                return Node(">>", type, (self.signed(a), b))
            return Node(">>", type, (self.unsigned(a), b), reading="u")
        if op in ("and", "or", "xor"):
            return self._bits(value)
        if op == "icmp":
            return self._compare(value)
        if op == "fcmp":
            return self._float_compare(value)
        if op == "select":
            return self._select(value)
        if op in ("sext", "zext", "trunc", "freeze"):
            return self._cast(value)
        if op in ("fpext", "fptrunc", "sitofp", "uitofp"):
            operand = self.of(value.operands[0])
            if op == "uitofp":
                operand = self.unsigned(operand)
            elif op == "sitofp":
                operand = self.signed(operand)
            return Node("as_float", type, (operand,))
        if op in ("fptosi", "fptoui"):
            return Node("as_int", type, (self.of(value.operands[0]),), reading="s" if op == "fptosi" else "u")
        if op == "load":
            element = self._parts.element(value)
            return self.signed(element) if type is I64 else element
        if op == "call":
            return self._call(value)
        raise self.error(value, f"'{op}' has no form in the kernel")

    def _arithmetic(self, value: Instruction) -> Node:
        type, op = value.type, value.op
        assert isinstance(type, IntType)
        a, b = (self.of(o) for o in value.operands)
        if op == "shl":
            shift = value.operands[1]
            if not isinstance(shift, ConstInt) or shift.value >= type.bits:
                raise self.error(value, "a shift by a number that is not known")
            b = Node("int", type, number=1 << shift.value, is_nonnegative=True)
        sign = _INTEGER.get(op, "*")
        if ("nsw" in value.flags and value not in self._parts.loose) or self._stays_signed(value):
            return Node(sign, type, (self.signed(a), self.signed(b)))
        if "nuw" in value.flags and type.bits < 64:
            return Node(sign, type, (self.unsigned(a), self.unsigned(b)), reading="u")
        if op == "add" and isinstance(value.operands[1], ConstInt) and b.number < 0:
            # Subtraction of a number, as compilers write it.
            sign, b = "-", Node("int", type, number=-b.number, is_nonnegative=True)
        reading = "s" if type.bits == 64 else "u"
        return Node("wrap", type, (Node(sign, type, (a, b)),), reading=reading)

    def _stays_signed(self, value: Instruction) -> bool:
        """Whether a sum or product is known not to leave the signed numbers."""
        ranges = [self._range(o) for o in value.operands]
        if any(r is None for r in ranges) or value.op == "shl":
            return False
        a, b = ranges
        assert a is not None and b is not None
        if value.op == "add":
            ends = [a[0] + b[0], a[1] + b[1]]
        elif value.op == "sub":
            ends = [a[0] - b[1], a[1] - b[0]]
        else:
            ends = [x * y for x in a for y in b]
        limit = 1 << (value.type.bits - 1)  # type: ignore[attr-defined]
        return -limit <= min(ends) and max(ends) < limit

    def _division(self, value: Instruction) -> Node:
        a, b = (self.of(o) for o in value.operands)
        is_unsigned = value.op[0] == "u"
        turn = self.unsigned if is_unsigned else self.signed
        a, b = turn(a), turn(b)
        known = is_unsigned or (a.is_nonnegative and b.is_nonnegative)
        sign = "//" if value.op.endswith("div") else "%"
        if not known:
            sign = "/t" if sign == "//" else "%t"
        return Node(sign, value.type, (a, b), reading="u" if is_unsigned else "s")

    def _bits(self, value: Instruction) -> Node:
        op, type = value.op, value.type
        first, second = value.operands
        if type is I1:
            if op == "xor" and second == TRUE:
                return negated(self.of(first))
            if op == "xor":
                return Node("!=", type, (self.of(first), self.of(second)))
            return Node(op, type, (self.of(first), self.of(second)))
        a, b = self.of(first), self.of(second)
        if a.reading != b.reading and not (a.is_nonnegative or b.is_nonnegative):
            a, b = self.unsigned(a), self.unsigned(b)
        reading = "u" if "u" in (a.reading, b.reading) else "s"
        if op == "xor" and isinstance(second, ConstInt) and second.signed == -1 and reading == "s":
            return Node("~", type, (a,))
        return Node({"and": "&", "or": "|", "xor": "^"}[op], type, (a, b), reading=reading)

    def _compare(self, value: Instruction) -> Node:
        predicate: str = value.predicate
        a, b = (self.of(o) for o in value.operands)
        if not isinstance(value.operands[0].type, IntType):
            raise self.error(value, "pointers are compared")
        if predicate in ("eq", "ne"):
            if a.reading != b.reading and not (a.is_nonnegative and b.is_nonnegative):
                a, b = (
                    (self.unsigned(a), self.unsigned(b)) if a.bits < 64 else (self.signed(a), self.signed(b))
                )
            return Node("==" if predicate == "eq" else "!=", I1, (a, b))
        turn = self.signed if predicate[0] == "s" else self.unsigned
        return Node(_COMPARED[predicate[1:]], I1, (turn(a), turn(b)))

    def _float_compare(self, value: Instruction) -> Node:
        predicate: str = value.predicate
        a, b = (self.of(o) for o in value.operands)
        if predicate in _ORDERED:
            return Node(_ORDERED[predicate], I1, (a, b))
        if predicate in ("true", "false"):
            return Node("int", I1, number=int(predicate == "true"), is_nonnegative=True)
        if predicate in ("ord", "uno"):
            same = Node("and", I1, (Node("==", I1, (a, a)), Node("==", I1, (b, b))))
            return same if predicate == "ord" else negated(same)
        if predicate in ("one", "ueq"):
            apart = Node("or", I1, (Node("<", I1, (a, b)), Node(">", I1, (a, b))))
            return apart if predicate == "one" else Node("not", I1, (apart,))
        return Node("not", I1, (Node(_OPPOSITE[predicate], I1, (a, b)),))

    def _select(self, value: Instruction) -> Node:
        condition, first, second = value.operands
        if value.type is I1:
            if second == FALSE:
                return Node("and", I1, (self.of(condition), self.of(first)))
            if first == TRUE:
                return Node("or", I1, (self.of(condition), self.of(second)))
        a, b = self.of(first), self.of(second)
        if a.reading != b.reading:
            a, b = (
                (self.signed(a), self.signed(b))
                if value.type is I64
                else (self.unsigned(a), self.unsigned(b))
            )
        reading = "u" if "u" in (a.reading, b.reading) and not (a.reading == "s" == b.reading) else "s"
        return Node("select", value.type, (self.of(condition), a, b), reading=reading)

    def _cast(self, value: Instruction) -> Node:
        operand = self.of(value.operands[0])
        if value.op == "freeze":
            return operand
        type = value.type
        assert isinstance(type, IntType)
        if operand.type is I1:
            if value.op == "sext":
                one = Node("int", type, number=-1)
                return Node("select", type, (operand, one, Node("int", type, number=0)))
            return Node("widen", type, (operand,), is_nonnegative=True)
        if value.op == "sext":
            return Node("widen", type, (self.signed(operand),), is_nonnegative=operand.is_nonnegative)
        if value.op == "zext":
            if self._follows_nonnegative(value.operands[0]):
                return Node("widen", type, (self.signed(operand),), is_nonnegative=True)
            return Node("widen", type, (self.unsigned(operand),), is_nonnegative=True)
        found = self._range(value.operands[0])
        if type is I1:
            one = Node("int", operand.type, number=1, is_nonnegative=True)
            return Node("!=", I1, (Node("&", operand.type, (operand, one)), Node("int", operand.type)))
        if found is not None and -(1 << (type.bits - 1)) <= found[0] and found[1] < 1 << (type.bits - 1):
            return Node("narrow", type, (self.signed(operand),), is_nonnegative=found[0] >= 0)
        return Node("wrap", type, (operand,), reading="u")

    def _call(self, value: Instruction) -> Node:
        name = value.callee_name or ""
        args = [self.of(a) for a in value.args]
        stem = name.split(".")[1] if name.startswith("llvm.") else name
        if name.startswith("llvm.fptosi.sat"):
            return Node("as_int", value.type, tuple(args), "sat")
        if stem in ("fmuladd",):
            product = Node("*", value.type, (args[0], args[1]))
            return Node("+", value.type, (product, args[2]))
        if stem == "abs" and isinstance(value.type, IntType):
            return Node("call", value.type, (self.signed(args[0]),), "abs", is_nonnegative=False)
        if stem in _INTEGER_CALLS:
            turn = self.signed if stem[0] == "s" else self.unsigned
            return Node(
                "call",
                value.type,
                (turn(args[0]), turn(args[1])),
                _INTEGER_CALLS[stem],
                reading=turn(args[0]).reading,
            )
        stem = _INTRINSICS.get(stem, stem)
        if stem not in UNARY | BINARY | {"fma"} and stem.endswith("f"):
            stem = stem[:-1]
        is_float = isinstance(value.type, FloatType) and value.type.kind in ("float", "double")
        if is_float and len(args) == {True: 1, False: 2}[stem in UNARY] and stem in UNARY | BINARY:
            return Node("call", value.type, tuple(args), stem)
        if is_float and stem == "fma" and len(args) == 3:
            return Node("call", value.type, tuple(args), "fma")
        raise self.error(
            value, f"the call of {name or 'a function through a pointer'} has no form in the kernel"
        )
