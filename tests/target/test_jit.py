import ctypes
import math
from ctypes.util import find_library

import numpy as np
import pytest

from weft.diag.errors import CompileError
from weft.machine.host import chosen
from weft.machine.targets import ISAS, SSE2
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import FINAL

HOST = TargetSpec.chosen()
UNARY = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)


def load(text: str, *names: str, spec: TargetSpec = HOST, symbols: dict[str, int] | None = None):
    return load_object(emit_object(text, spec), names, symbols)


def test_code_calls_the_math_library():
    text = """
declare float @llvm.sin.f32(float)
define float @f(float %x) {
  %y = call float @llvm.sin.f32(float %x)
  ret float %y
}
"""
    code = load(text, "f")
    assert UNARY(code.address("f"))(1.0) == pytest.approx(math.sin(1), rel=1e-6)


def test_symbols_given_by_address_come_before_those_of_the_process():
    callback = UNARY(lambda x: x + 100)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    text = "declare float @sinf(float)\ndefine float @f(float %x) { %y = call float @sinf(float %x)\n ret float %y }"
    code = load(text, "f", symbols={"sinf": address})
    assert UNARY(code.address("f"))(1.0) == 101


@pytest.mark.skipif(find_library("mvec") is None, reason="needs libmvec")
def test_code_calls_vector_math():
    library = ctypes.CDLL("libmvec.so.1")
    address = ctypes.cast(library._ZGVbN4v_expf, ctypes.c_void_p).value
    assert address is not None
    text = """
declare <4 x float> @_ZGVbN4v_expf(<4 x float>)
define void @f(ptr %p) {
  %v = load <4 x float>, ptr %p
  %w = call <4 x float> @_ZGVbN4v_expf(<4 x float> %v)
  store <4 x float> %w, ptr %p
  ret void
}
"""
    data = np.array([0, 1, 2, 3], np.float32)
    code = load(text, "f", symbols={"_ZGVbN4v_expf": address})
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("f"))(data.ctypes.data)
    np.testing.assert_allclose(data, np.exp([0, 1, 2, 3]), rtol=1e-6)


def test_objects_with_the_same_names_live_side_by_side():
    codes = [load(f"define i32 @f() {{ ret i32 {n} }}", "f") for n in range(20)]
    function = ctypes.CFUNCTYPE(ctypes.c_int)
    assert [function(code.address("f"))() for code in codes] == list(range(20))


def test_global_data_and_calls_between_functions_are_relocated():
    text = """
@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]
@count = internal global i32 0
define internal i32 @look(i64 %i) noinline {
  %at = getelementptr i32, ptr @table, i64 %i
  %v = load i32, ptr %at
  ret i32 %v
}
define i32 @f(i64 %i) {
  %n = load i32, ptr @count
  %m = add i32 %n, 1
  store i32 %m, ptr @count
  %v = call i32 @look(i64 %i)
  %r = add i32 %v, %m
  ret i32 %r
}
"""
    code = load(text, "f")
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)(code.address("f"))
    assert [function(i) for i in (0, 3, 1)] == [11, 42, 23]


@pytest.mark.skipif(chosen().arch != "x86_64", reason="runs code of x86-64's levels")
@pytest.mark.parametrize("isa", [isa for isa in ISAS if isa.arch == "x86_64"], ids=lambda isa: isa.name)
def test_code_of_every_level_the_host_has_computes_the_same(isa):
    if not isa.features <= chosen().features:
        pytest.skip(f"the processor has no {isa.name}")
    text = """
define void @f(ptr %p) {
  %v = load <16 x float>, ptr %p, align 4
  %h = fptrunc <16 x float> %v to <16 x half>
  %e = fpext <16 x half> %h to <16 x float>
  %r = fdiv <16 x float> %e, splat (float 3.0)
  store <16 x float> %r, ptr %p, align 4
  ret void
}
"""
    data = np.linspace(-5, 5, 16, dtype=np.float32)
    expected = data.astype(np.float16).astype(np.float32) / np.float32(3)
    code = load_object(emit_object(text, TargetSpec.of_isa(isa), FINAL), ["f"])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("f"))(data.ctypes.data)
    np.testing.assert_array_equal(data, expected)


@pytest.mark.skipif(chosen().arch != "x86_64", reason="SSE2 is x86-64's")
def test_helpers_of_the_code_generator_are_found():
    text = "define half @f(half %x) { %y = fadd half %x, %x\n ret half %y }"
    assert load(text, "f", spec=TargetSpec.of_isa(SSE2)).address("f")
    division = "define i128 @g(i128 %a, i128 %b) { %q = sdiv i128 %a, %b\n ret i128 %q }"
    assert load(division, "g").address("g")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x7fELF, but not an object file" * 10, "not an object file"),
        (b"", "not an object file"),
    ],
    ids=["garbage", "empty"],
)
def test_object_that_cannot_be_linked_is_a_compile_error(data, message):
    with pytest.raises(CompileError, match=message):
        load_object(data, ["f"])


def test_symbol_not_asked_for_has_no_address():
    with pytest.raises(KeyError):
        load("define i32 @f() { ret i32 0 }", "f").address("g")
