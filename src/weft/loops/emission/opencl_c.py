"""Kernels as text in OpenCL C.

Integers of C have the widths and signs of its types: an operand gets a cast where C would compute in another type than
the program did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from weft.ir.types import I1, FloatType, IntType, Type
from weft.loops.emission.c_integers import SIGNED, kind_of, needed_for, promoted
from weft.loops.emission.printer import ATOM, Printer
from weft.loops.emission.tree import (
    Assign,
    Barrier,
    Break,
    Continue,
    For,
    If,
    Node,
    Return,
    Shared,
    Statement,
    Store,
    Variable,
    While,
    names_of,
    without_conversion,
)

_PRECEDENCE = {
    "select": 1, "or": 2, "and": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, "<=": 8, ">": 8, ">=": 8,
    "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11, "/t": 11, "%t": 11, "neg": 12, "~": 12,
    "not": 12, "cast": 12,
}  # fmt: skip
_SIGNS = {"or": "||", "and": "&&", "//": "/", "/t": "/", "%t": "%"}
_SPREAD = {
    "grid": ("get_global_id", "get_global_size"),
    "blocks": ("get_group_id", "get_num_groups"),
    "block": ("get_local_id", "get_local_size"),
}
"""The number of a work-item or group among those that share a loop, and how many these are."""


class OpenClC(Printer):
    """Writes expressions and statements.

    Attributes
    ----------
    has_doubles
        Whether the text computes with numbers of 64 bits.
    helpers
        Names of functions that it calls, of `weft.loops.emission.opencl_helpers.HELPERS`.
    has_long_atomics
        Whether it updates numbers of 64 bits.
    has_long_extrema
        Whether it does so by minima or maxima.
    """

    end = ";"

    def __init__(self) -> None:
        self.has_doubles = False
        self.helpers: dict[str, None] = {}
        self.has_long_atomics = False
        self.has_long_extrema = False
        self._variables: dict[str, Variable] = {}

    def body(self, statements: list[Statement], indent: int = 1) -> Iterator[str]:
        """The lines of statements, with declarations where variables begin."""
        self._variables = {v.name: v for statement in statements for v in _assigned(statement)}
        yield from self._list(statements, indent, frozenset())

    def _list(self, statements: list[Statement], indent: int, declared: frozenset[str]) -> Iterator[str]:
        """Statements; what several of them name is declared here, what one names is declared in it."""
        space = "  " * indent
        touched = [names_of([s]) & self._variables.keys() for s in statements]
        for statement, names in zip(statements, touched, strict=True):
            if isinstance(statement, Assign):
                variable = statement.variable
                if variable.name not in declared:
                    declared |= {variable.name}
                    kind = self.type_of(variable.type, variable.reading)
                    yield f"{space}{kind} {variable.name} = {self.text(statement.value)};"
                else:
                    yield f"{space}{self._assignment(variable.name, statement.value)}"
                continue
            for name in sorted(names - declared):
                if sum(name in other for other in touched) > 1:
                    declared |= {name}
                    variable = self._variables[name]
                    yield f"{space}{self.type_of(variable.type, variable.reading)} {name};"
            yield from self._one(statement, indent, declared)

    def _one(self, statement: Statement, indent: int, declared: frozenset[str]) -> Iterator[str]:
        space = "  " * indent
        match statement:
            case Store(target, value, update):
                value = self._stored(value)
                if update:
                    yield f"{space}{self._update(target, value, update)};"
                else:
                    yield f"{space}{self._assignment(self._index(target), value)}"
            case If(condition, then, otherwise):
                yield f"{space}if ({self.text(condition)}) {{"
                yield from self._list(then, indent + 1, declared)
                if otherwise:
                    yield f"{space}}} else {{"
                    yield from self._list(otherwise, indent + 1, declared)
                yield f"{space}}}"
            case For(variable, start, stop, step, inner, spread):
                kind = self.type_of(variable.type, variable.reading)
                sign = "<" if step > 0 else ">"
                move = {1: "++", -1: "--"}.get(step, f" += {step}" if step > 0 else f" -= {-step}")
                limit = self.text(Node(sign, I1, (variable.node, stop)))
                name, begin = variable.name, self.text(start)
                if spread:
                    begin, move = self._shares(kind, start, step, spread)
                yield f"{space}for ({kind} {name} = {begin}; {limit}; {name}{move}) {{"
                yield from self._list(inner, indent + 1, declared | {variable.name})
                yield f"{space}}}"
            case While(condition, inner):
                yield f"{space}while ({'true' if condition is None else self.text(condition)}) {{"
                yield from self._list(inner, indent + 1, declared)
                yield f"{space}}}"
            case Break():
                yield f"{space}break;"
            case Continue():
                yield f"{space}continue;"
            case Return():
                yield f"{space}return;"
            case Shared(name, type, reading, size):
                yield f"{space}local {self.type_of(type, reading)} {name}{''.join(f'[{n}]' for n in size)};"
            case Barrier():
                yield f"{space}barrier(CLK_LOCAL_MEM_FENCE);"
            case _:
                yield from self.other(statement, space)

    def other(self, statement: Statement, space: str) -> Iterator[str]:
        """The lines of a statement that kernels do not have."""
        raise AssertionError(statement)

    def _assignment(self, name: str, value: Node) -> str:
        inner = value.args[0] if value.op == "wrap" and value.bits >= 32 else value
        # Computed in the unsigned type of the variable, nothing is undefined.
        is_update = inner is not value and inner.op in ("+", "-", "*") and self.text(inner.args[0]) == name
        if is_update and kind_of(inner.args[0]) == (value.bits, True):
            value = inner
        return super()._assignment(name, value)

    def _stored(self, value: Node) -> Node:
        """What a store takes the low bits of, unless it could leave the signed numbers, which C does not define."""
        plain, wraps = without_conversion(value), False
        inner = value
        while inner is not plain:
            wraps |= inner.op == "wrap"
            inner = inner.args[0]
        if not wraps or plain.is_float or plain.op not in ("+", "-", "*"):
            return plain
        bits, is_unsigned = kind_of(plain)
        return plain if is_unsigned or bits > plain.bits else value

    def _shares(self, kind: str, start: Node, step: int, spread: str) -> tuple[str, str]:
        """Where a thread begins in a loop that is shared, and how it goes on."""
        mine, all = (f"({kind}){f}(0)" for f in _SPREAD[spread])
        scale = "" if abs(step) == 1 else f"{abs(step)} * "
        sign = "+" if step > 0 else "-"
        first = "" if start.op == "int" and start.number == 0 else self.text(start, _PRECEDENCE["+"])
        begin = f"{first} {sign} {scale}{mine}" if first else f"{'' if step > 0 else '-'}{scale}{mine}"
        return begin, f" {sign}= {scale}{all}"

    def type_of(self, type: Type, reading: str) -> str:
        """The type of C."""
        if isinstance(type, FloatType):
            self.has_doubles |= type.kind == "double"
            return type.kind
        assert isinstance(type, IntType)
        if type is I1:
            return "bool"
        return ("u" if reading == "u" else "") + SIGNED[type.bits]

    def _update(self, target: Node, value: Node, update: str) -> str:
        self.has_long_atomics |= target.bits == 64
        self.has_long_extrema |= target.bits == 64 and update in ("min", "max")
        place, amount = f"&{self._index(target)}", self.text(value)
        if isinstance(target.type, FloatType):
            self.helpers[target.type.kind] = None
            amount = amount if update == "add" else f"-{self.text(value, _PRECEDENCE['neg'])}"
            return f"add_{target.type.kind}({place}, {amount})"
        return f"{'atom' if target.bits == 64 else 'atomic'}_{update}({place}, {amount})"

    def _index(self, node: Node) -> str:
        return node.text + "".join(f"[{self.text(a)}]" for a in node.args)

    def _operand(self, node: Node, needed: tuple[int, bool], level: int, is_alone: bool) -> str:
        """An operand, with a cast where C would take another type; `is_alone` if no other operand says which."""
        bits, is_unsigned = promoted(kind_of(node))
        fits = (bits, is_unsigned) == needed or (not is_alone and (bits < needed[0] or node.op == "int"))
        if fits or (node.op == "int" and not is_alone):
            return self.text(node, level)
        if node.op == "int":
            return f"{self.text(node, level)}{'u' if needed[1] else ''}{'l' if needed[0] == 64 else ''}"
        return self._cast(needed, node)

    def _cast(self, kind: tuple[int, bool], node: Node) -> str:
        name = ("u" if kind[1] else "") + SIGNED[kind[0]]
        return f"({name}){self.text(node, _PRECEDENCE['cast'] + 1)}"

    def _parts(self, node: Node) -> tuple[str, int]:
        op = node.op
        match op:
            case "name":
                return node.text, ATOM
            case "thread":
                return f"get_global_id({'xyz'.index(node.text)})", ATOM
            case "local" | "block":
                dimension = "xyz".index(node.text or "x")
                return f"get_{'local' if op == 'local' else 'group'}_id({dimension})", ATOM
            case "int":
                if node.type is I1:
                    return ("true" if node.number else "false"), ATOM
                if node.number == -(1 << 63):
                    return "LONG_MIN", ATOM
                return str(node.number), ATOM if node.number >= 0 else _PRECEDENCE["neg"]
            case "float":
                return self._float(node)
            case "index":
                return self._index(node), ATOM
            case "call":
                return self._call(node), ATOM
            case "select":
                a, b = self.text(node.args[1], 2), self.text(node.args[2], 1)
                return f"{self.text(node.args[0], 2)} ? {a} : {b}", _PRECEDENCE[op]
            case "neg" | "~":
                level = _PRECEDENCE[op]
                if node.is_float:
                    return f"-{self.text(node.args[0], level)}", level
                operand = self._operand(node.args[0], needed_for(node), level + 1, True)
                return f"{'-' if op == 'neg' else '~'}{operand}", level
            case "not":
                return f"!{self.text(node.args[0], _PRECEDENCE[op])}", _PRECEDENCE[op]
            case "//" if node.text == "floor" and not node.args[0].is_nonnegative:
                return self._floor(*node.args)
            case "wrap":
                return self._wrapped(node)
            case "signed" | "unsigned":
                return self._cast((node.bits, op == "unsigned"), node.args[0]), _PRECEDENCE["cast"]
            case "widen":
                return self._parts(node.args[0])
            case "narrow":
                if kind_of(node.args[0]) == (node.bits, node.reading == "u"):
                    return self._parts(node.args[0])
                return self._cast((node.bits, node.reading == "u"), node.args[0]), _PRECEDENCE["cast"]
            case "as_float":
                level = _PRECEDENCE["cast"]
                return f"({self.type_of(node.type, 's')}){self.text(node.args[0], level + 1)}", level
            case "as_int":
                name = self.type_of(node.type, node.reading)
                if node.text == "sat":
                    return f"convert_{name}_sat({self.text(node.args[0])})", ATOM
                return f"({name}){self.text(node.args[0], _PRECEDENCE['cast'] + 1)}", _PRECEDENCE["cast"]
            case _:
                return self._binary(node)

    def _floor(self, value: Node, by: Node) -> tuple[str, int]:
        """A quotient that is rounded down; the operator rounds to 0."""
        divisor = int(by.number)
        if by.op == "int" and divisor > 0 and divisor & (divisor - 1) == 0:
            level = _PRECEDENCE[">>"]
            return f"{self.text(value, level)} >> {divisor.bit_length() - 1}", level
        level = _PRECEDENCE["/"]
        text, other = self.text(value, level), self.text(by, level + 1)
        inverse = self.text(Node("~", value.type, (value,)), level)
        return f"{self.text(value, _PRECEDENCE['<'])} < 0 ? ~({inverse} / {other}) : {text} / {other}", 1

    def _binary(self, node: Node) -> tuple[str, int]:
        op, level = node.op, _PRECEDENCE[node.op]
        sign = _SIGNS.get(op, op)
        a, b = node.args
        if a.is_float or op in ("and", "or"):
            right = level if op in ("and", "or") else level + 1
            # Parentheses that compilers ask for.
            closer = _PRECEDENCE["and"] + 1
            left = closer if a.op in ("and", "or") and a.op != op else level
            right = closer if b.op in ("and", "or") and b.op != op else right
            return f"{self.text(a, left)} {sign} {self.text(b, right)}", level
        if op in ("<<", ">>"):
            needed = (max(a.bits, 32), a.reading == "u" and a.bits >= 32)
            return f"{self._operand(a, needed, level, True)} {sign} {self.text(b, level + 1)}", level
        if node.type is I1:
            bits = max(a.bits, b.bits, 32)
            needed = bits, "u" in (a.reading, b.reading) and not (a.is_nonnegative and b.is_nonnegative)
        else:
            needed = needed_for(node)
        kinds = [promoted(kind_of(n)) for n in (a, b)]
        # One operand of the right type makes C compute in it.
        decided = any(k == needed for k in kinds)
        texts = [
            self._operand(
                n,
                needed,
                lv,
                not decided and (k is kinds[0] or n.op != "int") and n is self._first(a, b),
            )
            if k[0] <= needed[0] and not (k[0] == needed[0] and k[1] and not needed[1])
            else self._cast(needed, n)
            for n, k, lv in ((a, kinds[0], level), (b, kinds[1], level + 1))
        ]
        return f"{texts[0]} {sign} {texts[1]}", level

    def _first(self, a: Node, b: Node) -> Node:
        """The operand that gets a cast, where one has to."""
        return b if a.op == "int" and b.op != "int" else a

    def _wrapped(self, node: Node) -> tuple[str, int]:
        """What may leave its width, computed in an unsigned type."""
        inner = node.args[0]
        bits = node.bits
        if inner.op in ("+", "-", "*") and inner.bits == bits and bits >= 32:
            level = _PRECEDENCE[inner.op]
            kind = bits, True
            inner = Node(inner.op, inner.type, tuple(map(_modulo, inner.args)), reading=inner.reading)
            a = (
                self._cast(kind, inner.args[0])
                if kind_of(inner.args[0]) != kind
                else self.text(inner.args[0], level)
            )
            b = self.text(inner.args[1], level + 1)
            if inner.args[1].op != "int" and promoted(kind_of(inner.args[1]))[0] > bits:
                b = self._cast(kind, inner.args[1])
            if node.reading == "s":
                return f"({SIGNED[bits]})({a} {inner.op} {b})", _PRECEDENCE["cast"]
            return f"{a} {inner.op} {b}", level
        return self._cast((bits, node.reading == "u"), inner), _PRECEDENCE["cast"]

    def _float(self, node: Node) -> tuple[str, int]:
        value = float(node.number)
        single = node.bits == 32
        self.has_doubles |= not single
        if math.isnan(value):
            return ("NAN" if single else "nan(0ul)"), ATOM
        if math.isinf(value):
            text = "INFINITY" if single else "HUGE_VAL"
        else:
            text = str(np.float32(abs(value))) + "f" if single else repr(abs(value))
        negative = math.copysign(1.0, value) < 0
        return (f"-{text}", _PRECEDENCE["neg"]) if negative else (text, ATOM)

    def _call(self, node: Node) -> str:
        args = [self.text(a) for a in node.args]
        if node.text in ("min", "max") and not node.is_float:
            kind = max(node.bits, 32), node.reading == "u"
            args = [
                t if kind_of(a) == kind else self._cast(kind, a) for t, a in zip(args, node.args, strict=True)
            ]
            text = args[0]
            for arg in args[1:]:
                text = f"{node.text}({text}, {arg})"
            return text
        return f"{node.text}({', '.join(args)})"


def _modulo(node: Node) -> Node:
    """An operand of what is computed modulo a power of two, which need not have been reduced before."""
    if node.op == "wrap" and node.reading == "s" and node.args[0].type is node.type:
        return Node("wrap", node.type, node.args, reading="u")
    return node


def _assigned(statement: Statement) -> Iterator[Variable]:
    match statement:
        case Assign(variable, _):
            yield variable
        case If(_, then, otherwise):
            for inner in (*then, *otherwise):
                yield from _assigned(inner)
        case For(_, _, _, _, body) | While(_, body):
            for inner in body:
                yield from _assigned(inner)
