"""Code that needs what nobody defines is refused before any of it runs, with names and the place in the source."""

import ctypes
import math

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.diag.errors import CompileError, UnresolvedError
from weft.machine.targets import SSE2
from weft.target.elf import Needed, needed_symbols
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

HOST = TargetSpec.chosen()
CALLS = """
declare i32 @nowhere()
declare i32 @nowhere.either(i32)
define i32 @good() { ret i32 1 }
define i32 @f() { %x = call i32 @nowhere()
  ret i32 %x }
define i32 @g(i32 %a) { %x = call i32 @nowhere.either(i32 %a)
  %y = call i32 @nowhere()
  %z = add i32 %x, %y
  ret i32 %z }
"""


def test_error_names_all_symbols_and_the_functions_that_use_them() -> None:
    with pytest.raises(UnresolvedError) as raised:
        load_object(emit_object(CALLS, HOST), ["good"])
    assert raised.value.symbols == ("nowhere", "nowhere.either")
    assert "nowhere, which f and g uses" in raised.value.message
    assert "nowhere.either, which g uses" in raised.value.message


def test_given_addresses_serve_and_no_other_symbol_is_asked_for() -> None:
    stub = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 5)
    address = ctypes.cast(stub, ctypes.c_void_p).value
    assert address is not None
    code = load_object(emit_object(CALLS, HOST), ["f"], {"nowhere": address, "nowhere.either": address})
    assert ctypes.CFUNCTYPE(ctypes.c_int)(code.address("f"))() == 5


@pytest.mark.parametrize(
    "text",
    [
        "@w = extern_weak global i32\ndefine ptr @f() { ret ptr @w }",
        "declare extern_weak i32 @w()\ndefine i32 @f() { %x = call i32 @w() ret i32 %x }",
        "declare i32 @w()\n@table = constant [1 x ptr] [ptr @w]\ndefine ptr @f() { ret ptr @table }",
        "define i128 @f(ptr %p) { %x = load atomic i128, ptr %p seq_cst, align 16 ret i128 %x }",
    ],
    ids=["weak variable", "weak function", "table", "atomic of 128 bits"],
)
def test_weak_symbols_tables_and_helpers_of_llvm_are_no_exception(text: str) -> None:
    with pytest.raises(UnresolvedError, match=r"nobody defines (w|__atomic_load_16)"):
        load_object(emit_object(text, TargetSpec.of_isa(SSE2)), ["f"])


def test_variables_of_each_thread_are_refused_where_they_would_end_the_process() -> None:
    for declaration in ("thread_local global i32 5", "external thread_local global i32"):
        data = emit_object(f"@t = {declaration}\ndefine ptr @f() {{ ret ptr @t }}", HOST)
        with pytest.raises(CompileError, match="t is thread_local"):
            load_object(data, ["f"])


def test_users_of_a_symbol_are_read_from_the_object() -> None:
    needed = {n.name: n.users for n in needed_symbols(emit_object(CALLS, HOST))}
    assert needed == {"nowhere": ("f", "g"), "nowhere.either": ("g",)}
    assert needed_symbols(emit_object("define i32 @good() { ret i32 1 }", HOST)) == ()
    assert isinstance(needed_symbols(emit_object(CALLS, HOST))[0], Needed)


@cuda.jit
def sine(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = math.sin(x[i])  # the call


def test_kernels_and_functions_name_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of the C library are taken for some that this machine lacks."""
    from weft.target import jit as linking

    monkeypatch.setenv("WEFT_VECTOR_MATH", "none")
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setattr(linking, "is_loaded", lambda symbol: symbol not in ("hypot", "sin"))
    x = np.ones(8)
    with pytest.raises(UnresolvedError, match="nobody defines sin") as raised:
        sine[1, 8](x)
    assert raised.value.span is not None and "# the call" in (raised.value.span.source_line() or "")
    assert (x == 1).all()

    @weft.jit
    def lengths(x):
        for i in prange(x.size):
            x[i] = np.hypot(x[i], 1.0)  # in the loop

    with pytest.raises(UnresolvedError, match="nobody defines hypot") as raised:
        lengths(x)
    assert raised.value.span is not None and "# in the loop" in (raised.value.span.source_line() or "")
    assert (x == 1).all()
