"""Call each vector function that is installed, from JITted code as weft will, and measure its error."""

import ctypes
import functools
import zlib

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest

from weft.machine.host import chosen
from weft.machine.vecmath import LIBMVEC, LIBRARIES, SVML, VectorFunction, function_in
from weft.machine.vecmath_load import LoadedLibrary, find_function, installed, load

DOMAINS = {
    "acosh": (1, 1e4),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-0.999, 0.999),
    "log1p": (-0.99, 1e4),
    "exp10": (-30, 30),
    "lgamma": (2.5, 30),
    "tgamma": (0.1, 30),
    "log": (1e-3, 1e4),
    "log2": (1e-3, 1e4),
    "log10": (1e-3, 1e4),
    "pow": (0.01, 9),
    "sin": (-20, 20),
    "cos": (-20, 20),
    "tan": (-20, 20),
    "erfc": (-3, 8),
}
NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
NUMPY_NAMES |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
COUNT = 4096


def reference(name: str, arguments: list[np.ndarray]) -> np.ndarray:
    """The function in more than double precision."""
    wide = [a.astype(np.longdouble) for a in arguments]
    if name == "exp10":
        return np.power(np.longdouble(10), wide[0])
    if hasattr(np, NUMPY_NAMES.get(name, name)):
        return getattr(np, NUMPY_NAMES.get(name, name))(*wide)
    function = getattr(mpmath, {"tgamma": "gamma", "lgamma": "loggamma"}.get(name, name))
    return np.array([float(function(*(float(x) for x in xs))) for xs in zip(*arguments, strict=True)])


@functools.cache
def known(name: str, arity: int, dtype: type) -> tuple[list[np.ndarray], np.ndarray]:
    """Arguments, and what a function gives for them, for its forms of all lanes."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    low, high = DOMAINS.get(name, (-9, 9))
    arguments = [random.uniform(low, high, COUNT).astype(dtype) for _ in range(2)]
    return arguments, reference(name, arguments[:arity])


def wrapper(function: VectorFunction) -> str:
    """IR that applies the function to COUNT elements, one vector at a time."""
    vector = f"<{function.lanes} x {'float' if function.element_bits == 32 else 'double'}>"
    names = ("a", "b")[: function.arity]
    loads = "\n".join(
        f"  %p{n} = getelementptr {vector}, ptr %{n}, i64 %i\n  %v{n} = load {vector}, ptr %p{n}, align 4"
        for n in names
    )
    return f"""
declare {vector} @{function.symbol}({", ".join([vector] * function.arity)})
define void @run_{function.symbol}(ptr %a, ptr %b, ptr %out) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{loads}
  %r = call {vector} @{function.symbol}({", ".join(f"{vector} %v{n}" for n in names)})
  %po = getelementptr {vector}, ptr %out, i64 %i
  store {vector} %r, ptr %po, align 4
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {COUNT // function.lanes}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def functions_of(loaded: LoadedLibrary) -> list[VectorFunction]:
    isa = chosen().isa
    return [
        function
        for name in loaded.library.functions
        for bits in (32, 64)
        for register in (128, 256, 512)
        if (function := function_in(loaded.library, name, bits, register // bits, isa))
    ]


def jit(functions: list[VectorFunction], loaded: LoadedLibrary) -> llvm.ExecutionEngine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for function in functions:
        llvm.add_symbol(function.symbol, loaded.address(function.symbol))
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=chosen().cpu, features=chosen().isa.feature_string
    )
    module = llvm.parse_assembly("".join(wrapper(function) for function in functions))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_installed_functions_keep_their_stated_error(library) -> None:
    loaded = load(library)
    if loaded is None:
        pytest.skip(f"{library.name} is not installed")
    functions = [f for f in functions_of(loaded) if loaded.address(f.symbol)]
    assert functions
    engine = jit(functions, loaded)
    for function in functions:
        dtype = np.float32 if function.element_bits == 32 else np.float64
        arguments, expected = known(function.name, function.arity, dtype)
        out = np.zeros(COUNT, dtype)
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(
            engine.get_function_address(f"run_{function.symbol}")
        )
        run(*(a.ctypes.data for a in (*arguments, out)))
        spacing = np.spacing(np.abs(expected).astype(dtype)).astype(np.longdouble)
        error = np.abs(out - expected) / spacing
        # Half a unit more for rounding the result, and half for rounding a reference to double.
        assert error.max() <= function.ulp + 1, f"{function.symbol}: {error.max()} ulp"


@pytest.mark.skipif(load(LIBMVEC) is None, reason="libmvec is not installed")
def test_function_is_found_with_its_address(monkeypatch) -> None:
    monkeypatch.delenv("WEFT_VECTOR_MATH", raising=False)
    isa = chosen().isa
    found = find_function("exp", 32, isa.lanes(32), isa)
    assert found is not None
    assert found[0].library is LIBMVEC
    assert found[1] != 0


def test_environment_chooses_the_libraries(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_VECTOR_MATH", "none")
    assert installed() == ()
    assert find_function("exp", 32, chosen().isa.lanes(32), chosen().isa) is None
    monkeypatch.setenv("WEFT_VECTOR_MATH", "svml, libmvec")
    assert [each.library for each in installed()] == [row for row in (SVML, LIBMVEC) if load(row)]
