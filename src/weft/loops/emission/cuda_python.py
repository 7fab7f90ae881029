"""Kernels as text in the CUDA dialect of Python."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from weft.ir.types import I1, FloatType, Type
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
    While,
    without_conversion,
)

_PRECEDENCE = {
    "select": 1, "or": 2, "and": 3, "not": 4, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "|": 6, "^": 7,
    "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11, "neg": 12, "~": 12,
}  # fmt: skip
_MATH = {"fabs": "math.fabs", "rint": "np.rint", "floor": "np.floor", "ceil": "np.ceil", "trunc": "np.trunc",
         "cbrt": "np.cbrt", "exp2": "np.exp2", "exp10": "cuda.libdevice.exp10", "fmin": "np.fmin", "fmax": "np.fmax",
         "tgamma": "math.gamma", "fma": "cuda.fma"}  # fmt: skip
_BUILTIN = {"min", "max", "abs"}

_SPREAD = {
    "grid": ("cuda.grid(1)", "cuda.gridsize(1)"),
    "blocks": ("cuda.blockIdx.x", "cuda.gridDim.x"),
    "block": ("cuda.threadIdx.x", "cuda.blockDim.x"),
}
"""The number of a thread or block among those that share a loop, and how many these are."""

HELPERS = {
    "_quotient": '''@cuda.jit(device=True)
def _quotient(a, b):
    """The quotient of integers rounded toward zero, as C has it."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q
''',
    "_rest": '''@cuda.jit(device=True)
def _rest(a, b):
    """What C's division leaves; it has the sign of `a`."""
    r = abs(a) % abs(b)
    return r if a >= 0 else -r
''',
    "_divided": '''def _divided(a, b):
    """The quotient of integers rounded toward zero, as C has it, on the host."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)
''',
    "_left": '''def _left(a, b):
    """What C's division leaves, on the host."""
    return a - b * (a // b if (a < 0) == (b < 0) else -(-a // b))
''',
    "_signed": '''def _signed(a, bits):
    """What an integer is as a signed number of so many bits."""
    return (a + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
''',
}
"""Functions that a kernel or the host may call."""


class CudaPython(Printer):
    """Writes expressions and statements.

    Parameters
    ----------
    threads
        What the number of the thread is called in each dimension.

    Attributes
    ----------
    helpers
        Names of functions that the text calls, of `HELPERS`.
    modules
        Modules that it needs, ``math`` and ``np``.
    """

    def __init__(self, threads: Mapping[str, str]) -> None:
        self._threads = threads
        self.helpers: dict[str, None] = {}
        self.modules: dict[str, None] = {}

    def body(self, statements: list[Statement], indent: int = 1) -> Iterator[str]:
        """The lines of statements."""
        space = "    " * indent
        if not statements:
            yield f"{space}pass"
        for statement in statements:
            match statement:
                case Assign(variable, value):
                    yield f"{space}{self._assignment(variable.name, value)}"
                case Store(target, value, update):
                    yield f"{space}{self._store(target, value, update)}"
                case If(condition, then, otherwise):
                    yield f"{space}if {self.text(condition)}:"
                    yield from self.body(then, indent + 1)
                    if otherwise:
                        yield f"{space}else:"
                        yield from self.body(otherwise, indent + 1)
                case For(variable, start, stop, step, inner, spread):
                    yield f"{space}for {variable.name} in {self._range(start, stop, step, spread)}:"
                    yield from self.body(inner, indent + 1)
                case While(condition, inner):
                    yield f"{space}while {'True' if condition is None else self.text(condition)}:"
                    yield from self.body(inner, indent + 1)
                case Break():
                    yield f"{space}break"
                case Continue():
                    yield f"{space}continue"
                case Return():
                    yield f"{space}return"
                case Shared(name, type, reading, size):
                    shape = size[0] if len(size) == 1 else size
                    yield f"{space}{name} = cuda.shared.array({shape}, {self.dtype(type, reading)})"
                case Barrier():
                    yield f"{space}cuda.syncthreads()"
                case _:
                    yield from self.other(statement, space)

    def other(self, statement: Statement, space: str) -> Iterator[str]:
        """The lines of a statement that kernels do not have."""
        raise AssertionError(statement)

    def _assignment(self, name: str, value: Node) -> str:
        if value.op == "wrap" and value.bits == 64:
            value = value.args[0]
        return super()._assignment(name, value)

    def _store(self, target: Node, value: Node, update: str) -> str:
        value = without_conversion(value)
        if update:
            index = ", ".join(self.text(a) for a in target.args)
            index = f"({index})" if len(target.args) > 1 else index
            return f"cuda.atomic.{update}({target.text}, {index}, {self.text(value)})"
        return self._assignment(self._index(target), value)

    def _index(self, node: Node) -> str:
        return f"{node.text}[{', '.join(self.text(a) for a in node.args)}]"

    def _range(self, start: Node, stop: Node, step: int, spread: str) -> str:
        first = "" if start.op == "int" and start.number == 0 else self.text(start, _PRECEDENCE["+"])
        if spread:
            mine, all = _SPREAD[spread]
            scale = "" if abs(step) == 1 else f"{abs(step)} * "
            sign = "+" if step > 0 else "-"
            begin = f"{first} {sign} {scale}{mine}" if first else f"{'' if step > 0 else '-'}{scale}{mine}"
            return f"range({begin}, {self.text(stop)}, {'' if step > 0 else '-'}{scale}{all})"
        first = "" if not first else self.text(start)
        if step != 1:
            return f"range({first or '0'}, {self.text(stop)}, {step})"
        return f"range({first + ', ' if first else ''}{self.text(stop)})"

    def dtype(self, type: Type, reading: str) -> str:
        """NumPy's name of the type of elements."""
        self.modules["np"] = None
        if isinstance(type, FloatType):
            return "np.float32" if type.kind == "float" else "np.float64"
        return f"np.{'u' if reading == 'u' else ''}int{type.bits}"  # type: ignore[attr-defined]

    def _parts(self, node: Node) -> tuple[str, int]:
        op = node.op
        match op:
            case "name":
                return node.text, ATOM
            case "thread":
                return self._threads.get(node.text, "cuda.grid(1)"), ATOM
            case "local" | "block":
                return (f"cuda.threadIdx.{node.text or 'x'}" if op == "local" else "cuda.blockIdx.x"), ATOM
            case "int":
                if node.type is I1:
                    return str(bool(node.number)), ATOM
                return str(node.number), ATOM if node.number >= 0 else _PRECEDENCE["neg"]
            case "float":
                return self._float(node)
            case "index":
                if not node.is_float and node.bits < 64:
                    return f"int({self._index(node)})", ATOM
                return self._index(node), ATOM
            case "call":
                return self._call(node), ATOM
            case "select":
                a, b = self.text(node.args[1], 2), self.text(node.args[2], 1)
                return f"{a} if {self.text(node.args[0], 2)} else {b}", _PRECEDENCE[op]
            case "neg" | "~":
                return (
                    f"{'-' if op == 'neg' else '~'}{self.text(node.args[0], _PRECEDENCE[op])}",
                    _PRECEDENCE[op],
                )
            case "not":
                return f"not {self.text(node.args[0], _PRECEDENCE[op])}", _PRECEDENCE[op]
            case "/t" | "%t":
                name = "_quotient" if op == "/t" else "_rest"
                self.helpers[name] = None
                return f"{name}({self.text(node.args[0])}, {self.text(node.args[1])})", ATOM
            case "wrap":
                return self._wrapped(node)
            case "signed":
                return self._reading(node)
            case "unsigned":
                return self._reading(node)
            case "widen" | "narrow":
                if node.args[0].type is I1:
                    return f"int({self.text(node.args[0])})", ATOM
                return self._parts(node.args[0])
            case "as_float":
                return f"{self._type(node.type)}({self.text(node.args[0])})", ATOM
            case "as_int":
                return f"int({self.text(node.args[0])})", ATOM
            case _:
                return self._binary(node)

    def _binary(self, node: Node) -> tuple[str, int]:
        op, level = node.op, _PRECEDENCE[node.op]
        a, b = node.args
        chained = op in ("+", "*", "and", "or", "&", "|", "^") and not a.is_float
        if op in ("==", "!=", "<", "<=", ">", ">="):
            if (
                a.reading == "u"
                and not a.is_float
                and a.bits == 64
                and not (a.is_nonnegative and b.is_nonnegative)
            ):
                return f"{self._u64(a)} {op} {self._u64(b)}", level
            return f"{self.text(a, level + 1)} {op} {self.text(b, level + 1)}", level
        if op in ("//", "%", ">>") and node.reading == "u" and node.bits == 64 and not a.is_nonnegative:
            self.modules["np"] = None
            return f"np.int64({self._u64(a)} {op} {self._u64(b)})", ATOM
        right = self.text(b, level if chained and b.op in (op, "+", "-") else level + 1)
        return f"{self.text(a, level)} {op} {right}", level

    def _u64(self, node: Node) -> str:
        self.modules["np"] = None
        inner = node.args[0] if node.op == "unsigned" else node
        return f"np.uint64({self.text(inner)})"

    def _reading(self, node: Node) -> tuple[str, int]:
        """The other reading of a number of less than 64 bits; of 64 bits there is only the signed one."""
        if node.bits == 64:
            if node.args[0].op == "index":
                return f"int({self._index(node.args[0])})", ATOM
            return self._parts(node.args[0])
        if node.op == "unsigned":
            level = _PRECEDENCE["&"]
            return f"{self.text(node.args[0], level + 1)} & {(1 << node.bits) - 1:#x}", level
        self.modules["np"] = None
        return f"int(np.int{node.bits}({self.text(node.args[0])}))", ATOM

    def _wrapped(self, node: Node) -> tuple[str, int]:
        if node.bits == 64:
            return self._parts(node.args[0])
        level = _PRECEDENCE["&"]
        return f"{self.text(node.args[0], level + 1)} & {(1 << node.bits) - 1:#x}", level

    def _float(self, node: Node) -> tuple[str, int]:
        value = float(node.number)
        if math.isnan(value) or math.isinf(value):
            self.modules["math"] = None
            name = "math.nan" if math.isnan(value) else "math.inf"
            return (name, ATOM) if not value < 0 else (f"-{name}", _PRECEDENCE["neg"])
        text = repr(value) if node.bits == 64 else str(np.float32(value))
        return text, ATOM if not text.startswith("-") else _PRECEDENCE["neg"]

    def _type(self, type: object) -> str:
        self.modules["np"] = None
        return "np.float32" if isinstance(type, FloatType) and type.kind == "float" else "np.float64"

    def _call(self, node: Node) -> str:
        args = [self.text(a) for a in node.args]
        if node.is_float and all(a.op == "float" for a in node.args):
            args[0] = f"{self._type(node.type)}({args[0]})"
        name = (
            node.text
            if node.text in _BUILTIN and not node.is_float
            else _MATH.get(node.text, f"math.{node.text}")
        )
        module = name.split(".")[0]
        if module in ("math", "np"):
            self.modules[module] = None
        return f"{name}({', '.join(args)})"
