"""The key of compiled code: two programs have the same one only if they mean the same.

Programs differ in types, globals, attributes of classes and modules, defaults, closures and sources; what they mean is
what the front end makes of them.
"""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.kernels import without_debug_information
from weft.frontend.python.compile import compile_python
from weft.frontend.python.typeof import typeof
from weft.ir.writer import write_module
from weft.jit_options import JitOptions
from weft.runtime.code_key import code_key
from weft.target.machine import TargetSpec

PROGRAM = """
import enum, types
from collections import namedtuple
import numpy as np

class Base:
    N = {base}

class Cfg(Base):
    class Inner:
        M = {inner}
    @staticmethod
    def apply(a, b={default}):
        return a {operator} b

class Color(enum.Enum):
    RED = {red}
    BLUE = {blue}

class Level(enum.IntEnum):
    LOW = {low}

consts = types.ModuleType("package.consts")
consts.G = {submodule}
package = types.ModuleType("package")
package.consts = consts

Pair = namedtuple("Pair", {fields})
PAIR = Pair({first}, {second})
TABLE = np.array({table})
DTYPE = np.dtype({dtype})
VALUE = {value}
CLASSES = (Cfg, Base)
shift = lambda a: a {shift} {amount}

def helper(a, *, k={keyword}):
    return a {helper} k

def attribute(c, other={other}):
    return c.N - other.N

def enclosing(free):
    def program(x, r, out):
        out[0] = Cfg.N + Cfg.Inner.M - Cfg.apply(x[0])
        out[1] = Color.RED.value
        out[2] = Level.LOW + package.consts.G
        out[3] = PAIR.a - TABLE[1]
        out[4] = VALUE
        out[5] = helper(attribute(CLASSES[0])) {body} shift(free)
        out[6] = r[1].a
        out[7] = r[0].b if r.dtype == DTYPE else 0
    return program

program = enclosing({free})
"""

INTEGERS = ["1", "2", "True", "np.int32(1)", "np.int64(1)", "0"]
NUMBERS = [*INTEGERS, "1.0", "0.0", "-0.0", "float('nan')", "-float('nan')", "np.float32(1)", "np.float64(1)"]
OPERATORS = ["+", "-", "*"]
STRUCTURES = [
    f"{text}{align}"
    for text in (
        "[('a', 'i1'), ('b', 'i4')]",
        "[('a', 'i1'), ('b', 'f4')]",
        "[('b', 'i4'), ('a', 'i1')]",
        "[('a', 'i4'), ('b', 'i4')]",
        "[(('title', 'a'), 'i4'), ('b', 'i4')]",
        "dict(names=['a', 'b'], formats=['i1', 'i4'], offsets=[0, 8])",
        "dict(names=['a', 'b'], formats=['i1', 'i4'], offsets=[0, 4], itemsize=12)",
        "dict(names=['a', 'b'], formats=['i4', 'i4'], offsets=[0, 0])",
    )
    for align in ("", ", align=True")
]
ARRAYS = [
    "np.zeros(4)",
    "np.zeros(8)[::2]",
    "np.zeros(4, 'f4')",
    "np.frombuffer(bytes(32))",
    "np.zeros(4, 'i4')",
]

PARTS: dict[str, list[Any]] = {
    **dict.fromkeys(["operator", "helper", "shift", "body"], OPERATORS),
    **dict.fromkeys(["base", "inner", "red", "submodule", "amount", "keyword"], INTEGERS),
    **dict.fromkeys(["blue", "first", "second", "value", "free", "default"], NUMBERS),
    "low": ["1", "2", "3"],
    "fields": ["'a b'", "'b a'"],
    "table": ["[1, 2]", "[1, 3]", "[1., 2.]", "[[1, 2], [3, 4]][1]", "np.arange(4)[::2]"],
    "other": ["Base", "Cfg"],
    "dtype": STRUCTURES,
    # What follows are the arguments, and how they are compiled.
    "records": STRUCTURES,
    "array": ARRAYS,
    "fastmath": [False, True],
}
PROGRAMS = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in PARTS.items()})

names = itertools.count()


def built(parts: dict[str, Any]) -> tuple[Any, tuple[Any, ...], JitOptions]:
    """The function, the types of its arguments, and options."""
    file, text = f"<program {next(names)}>", PROGRAM.format(**parts)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "programs"}
    exec(compile(text, file, "exec"), scope)
    records = eval(f"np.zeros(4, np.dtype({parts['records']}))", scope)
    array = eval(parts["array"], scope)
    types = (
        typeof(array.astype(array.dtype.newbyteorder("="), copy=False)),
        typeof(records),
        typeof(np.zeros(8)),
    )
    return scope["program"], types, JitOptions(parts["fastmath"])


def key_of(function: Any, types: tuple[Any, ...], options: JitOptions) -> str:
    key = code_key("jit", function, types, options, TargetSpec.chosen())
    assert key is not None
    return key


def meaning(function: Any, types: tuple[Any, ...], options: JitOptions) -> str:
    made = compile_python(function, types, device=True, fastmath=options.fastmath)
    return without_debug_information(write_module(made.module))


def check(parts: dict[str, Any], others: dict[str, Any]) -> None:
    one, other = built(parts), built(others)
    same = key_of(*one) == key_of(*other)
    # Nor is a program compiled twice for no reason.
    assert same or parts != others
    if same:
        assert meaning(*one) == meaning(*other)


@given(PROGRAMS, PROGRAMS, st.sets(st.sampled_from(sorted(PARTS)), max_size=3))
def test_programs_with_the_same_key_mean_the_same(
    parts: dict[str, Any], others: dict[str, Any], changed: set[str]
) -> None:
    check(parts, parts | {name: others[name] for name in changed})


@pytest.mark.parametrize("part", PARTS)
def test_programs_that_differ_in_one_part(part: str) -> None:
    base = {name: values[0] for name, values in PARTS.items()}
    for value in PARTS[part]:
        check(base, base | {part: value})


def test_options_and_doors_have_keys_of_their_own() -> None:
    def function(a):
        return a

    types, spec = (typeof(1.0),), TargetSpec.chosen()
    chosen = [
        JitOptions(),
        JitOptions(True),
        JitOptions(("nnan",)),
        JitOptions(width=4),
        JitOptions(if_legal=True),
        JitOptions(auto=True),
    ]
    keys = {
        code_key(door, function, types, options, spec) for door in ("jit", "kernel") for options in chosen
    }
    assert len(keys) == 2 * len(chosen)


def test_the_libraries_asked_for_are_part_of_the_key(monkeypatch: Any) -> None:
    def function(a):
        return a

    keys = set()
    for libraries in (None, "none", "libmvec"):
        if libraries is None:
            monkeypatch.delenv("WEFT_VECTOR_MATH", raising=False)
        else:
            monkeypatch.setenv("WEFT_VECTOR_MATH", libraries)
        keys.add(key_of(function, (typeof(1.0),), JitOptions()))
    assert len(keys) == 3
