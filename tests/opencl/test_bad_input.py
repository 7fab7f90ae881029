"""Programs and launches that are wrong: a documented exception, at its place, and nothing written."""

import numpy as np
import pytest

from weft import opencl
from weft.errors import ArgumentError, BuildError, LaunchError, SanitizerError, SettingError, UnsupportedError

pytest.importorskip("ziglang")

SOURCE = """
typedef struct { float a; int b; } R;
kernel void k(global float *o, const global float4 *x, local int *l, int n, uchar c, float2 v, R r) { o[0] = n; }
kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eight(global float *o) { o[get_global_id(0)] = 1; }
kernel void much(global float *o) { local float t[80000]; t[get_local_id(0)] = 1; o[0] = t[0]; }
"""
R = np.dtype([("a", "f4"), ("b", "i4")])
GOOD = (
    np.zeros(8, np.float32), np.zeros(8, np.float32), opencl.LocalMemory(64), 3, 255, (1, 2), np.zeros((), R)[()],
)  # fmt: skip


@pytest.fixture(scope="module")
def program() -> opencl.Program:
    return opencl.Program(SOURCE)


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, np.zeros(8), "pointer to float, and the array is of float64"),
        (0, 3.5, "an array is wanted, not float 3.5"),
        (0, opencl.LocalMemory(8), "it is in global memory, and local memory was given"),
        (0, np.zeros((4, 4), np.float32)[:, 1], "not C-contiguous"),
        (0, b"12345678", "read-only"),
        (0, np.zeros(33, np.uint8)[1:], "no multiple of 4"),
        (1, np.zeros(9, np.float32)[1:], "no multiple of 16"),
        (2, np.zeros(8, np.int32), "it is in local memory, and an array of int32 was given"),
        (3, 2.5, "it is a int, and float 2.5 was given"),
        (3, 1 << 31, "2147483648 does not fit the type, int"),
        (3, np.float32(1), "a NumPy number of type float32"),
        (4, -1, "-1 does not fit the type, uchar"),
        (5, (1, 2, 3), "it is a float2, and 3 numbers were given"),
        (5, 1.0, "it is a float2, and float 1.0 was given"),
        (6, (1.0, 2), "it is a R, and tuple"),
        (6, np.zeros((), [("a", "f4"), ("b", "i2")])[()], "8 bytes, and a record of 6"),
        (
            6,
            np.zeros((), [("a", "i4"), ("b", "f4")])[()],
            "has a i4 at byte 0, where R has none|a f4 at byte 4",
        ),
    ],
)
def test_an_argument_that_does_not_fit(
    program: opencl.Program, position: int, value: object, message: str
) -> None:
    arguments = [*GOOD[:position], value, *GOOD[position + 1 :]]
    with pytest.raises(ArgumentError, match=message) as caught:
        program.k(8, 8, *arguments)
    assert caught.value.span is not None and caught.value.span.line == 3
    assert not np.any(GOOD[0])


def test_what_fits_is_taken(program: opencl.Program) -> None:
    out = np.zeros(8, np.float32)
    program.k(8, 8, out, None, *GOOD[2:])
    program.k(
        8, 8, bytearray(32), np.zeros(2, "4f4"), opencl.LocalMemory(8), np.int32(-3), np.uint8(7), *GOOD[5:]
    )
    assert out[0] == 3


@pytest.mark.parametrize(
    ("size", "local", "offset", "message"),
    [
        ((8, 8, 8, 8), None, None, "1 to 3 dimensions"),
        (0, None, None, "has to be positive"),
        (8.5, None, None, "global size is 8.5"),
        (8, (4, 2), None, r"work-group size is \(4, 2\)"),
        (9, 4, None, r"no multiple of the work-group size"),
        (4096, 2048, None, "2048 work-items"),
        (8, 8, (1, 2), "global offset"),
        (8, 8, -1, "global offset"),
        ((1 << 31, 2), (1, 1), None, "too many"),
    ],
)
def test_a_launch_that_cannot_be(
    program: opencl.Program, size: object, local: object, offset: object, message: str
) -> None:
    with pytest.raises(LaunchError, match=message):
        program.k(size, local, *GOOD, global_offset=offset)


def test_limits_that_kernels_set(program: opencl.Program) -> None:
    out = np.zeros(16, np.float32)
    with pytest.raises(LaunchError, match=r"eight requires work-groups of \(8, 1, 1\), not \(4,\)"):
        program.eight(16, 4, out)
    program.eight(16, None, out)
    assert np.all(out == 1)
    with pytest.raises(LaunchError, match="much needs 320000 bytes of local memory"):
        program.much(16, 16, out)
    with pytest.raises(ArgumentError, match="no kernel 'missing'"):
        program.kernel("missing")
    with pytest.raises(AttributeError, match="no kernel 'missing'"):
        _ = program.missing
    with pytest.raises(ArgumentError, match=r"takes 7 arguments .* got 1"):
        program.k(8, 8, out)
    assert program.kernel_names == ("k", "eight", "much")


def test_a_program_that_does_not_compile() -> None:
    with pytest.raises(BuildError, match="use of undeclared identifier 'y'") as caught:
        opencl.Program("kernel void k(global int *x) {\n  x[0] = y;\n  z = 1;\n}")
    assert caught.value.span is not None and (caught.value.span.line, caught.value.span.column) == (2, 10)
    assert ":3:3: error: use of undeclared identifier 'z'" in caught.value.log
    with pytest.raises(BuildError, match="file not found"):
        opencl.Program('#include "none.h"\n')
    with pytest.raises(BuildError, match="changes value"):
        opencl.Program("kernel void k(global int *x) { *x = 5000000000; }", "-Werror")
    assert "changes value" in opencl.Program("kernel void k(global int *x) { *x = 5000000000; }").log


@pytest.mark.parametrize("options", ["-cl-nonsense", "-D", "-cl-std=CL9.9", "-O3", '-D"open'])
def test_options_that_there_are_not(options: str) -> None:
    with pytest.raises(SettingError):
        opencl.Program("kernel void k() {}", options)


def test_generic_pointers_do_not_tell_where_they_lead() -> None:
    source = "kernel void k(global int *x) { int *p = x; *to_global(p) = 1; }"
    with pytest.raises(UnsupportedError, match="address space of a generic pointer") as caught:
        opencl.Program(source, "-cl-std=CL3.0").k(1, 1, np.zeros(1, np.int32))
    assert caught.value.span is not None and caught.value.span.line == 1


def test_recursion_is_no_opencl() -> None:
    source = "int f(int n) { return n ? n + f(n - 1) : 0; } kernel void k(global int *x) { x[0] = f(x[1]); }"
    with pytest.raises(UnsupportedError, match="k calls f, which calls itself"):
        opencl.Program(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kernel void k(global float *x) { x[get_global_id(0) + 1] = 1; }", "out-of-bounds"),
        ("kernel void k(global float *x) { x[0] = get_global_id(0); }", "race"),
        ("kernel void k(global float *x) { float y[2]; y[0] = 1; x[get_global_id(0)] = y[get_local_id(0) & 1]; }",
         "uninitialized"),
        ("kernel void k(global float *x) { if (get_local_id(0) < 2) { barrier(CLK_LOCAL_MEM_FENCE); x[0] = 1; }"
         " else barrier(CLK_LOCAL_MEM_FENCE); }", "barrier"),
        ("kernel void k(global float *x) { x[get_global_id(0)] = 7 / (int)get_global_id(0); }", "zero"),
    ],
)  # fmt: skip
def test_debug_finds(source: str, message: str) -> None:
    program = opencl.Program(source, debug=True)
    with pytest.raises(SanitizerError, match=message) as caught:
        program.k(4, 4, np.zeros(4, np.float32))
    assert caught.value.span is not None and caught.value.span.line == 1
    assert "kernel void k" in str(caught.value)


def test_debug_lets_good_kernels_run() -> None:
    program = opencl.Program(
        "kernel void k(global int *x, local int *t) { int l = get_local_id(0); t[l] = x[get_global_id(0)];"
        " barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)] = t[3 - l]; }",
        debug=True,
    )
    x = np.arange(8, dtype=np.int32)
    program.k(8, 4, x, opencl.LocalMemory(16))
    assert x.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


def test_inline_assembly_is_refused_at_its_line() -> None:
    """LLVM would end the process for what the CPU does not have."""
    program = opencl.Program('kernel void k(global int *a) {\n  __asm__("bogus %0" : "+r"(a[0]));\n}')
    with pytest.raises(UnsupportedError, match=r":2:3: k has inline assembly, .*: bogus"):
        program.k(1, None, np.zeros(1, np.int32))
