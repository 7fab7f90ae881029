"""From OpenCL C to P-LLVM: build options, what clang is told, one address space, adoption."""

import re
import struct

import numpy as np
import pytest

from weft import opencl
from weft.diag.print_format import format_line
from weft.frontend.device.flatten import flatten
from weft.frontend.device.metadata import Passing
from weft.frontend.opencl.adopt import adopt_kernel
from weft.frontend.opencl.options import parse_options
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.opencl.source import build_source

PROGRAM = """typedef struct { float a; char b; double2 c[2]; } R;
constant float table[2] = {1, 2};
global int total = 5;
float twice(local float *p) { barrier(CLK_LOCAL_MEM_FENCE); return p[0] * 2; }
kernel __attribute__((reqd_work_group_size(4, 2, 1))) __attribute__((vec_type_hint(float4)))
void k(global float *restrict x, constant int *c, local float *l, float3 v, const R r, uchar n) {
  local float t[4];
  t[get_local_id(0)] = v.y + r.c[1].x + table[n & 1] + l[n];
  x[get_global_id(0)] = twice(t) + c[0] + total;
  printf("%d", n);
}
"""


def test_options_are_understood() -> None:
    options = parse_options('-D A=1 -I inc -cl-std=cl3.0 -cl-mad-enable -cl-opt-disable -w "-DB=x y"')
    assert options.clang == ("-DA=1", "-Iinc", "-cl-mad-enable", "-w", "-DB=x y")
    assert (options.version, options.fastmath, options.optimize) == (300, ("contract",), False)
    assert parse_options("-cl-fast-relaxed-math").fastmath is True
    assert parse_options("").version == 120 and parse_options("").fastmath is False


def test_metadata_of_a_kernel() -> None:
    kernel = build_source(PROGRAM, "-cl-std=CL3.0", file="k.cl").kernels["k"]
    assert (kernel.required_size, kernel.vector_hint, kernel.file, kernel.line) == (
        (4, 2, 1),
        "float4",
        "k.cl",
        6,
    )
    assert kernel.local_bytes == 16
    shown = [(a.name, a.type_name, a.address_space, a.passing, a.size, a.lanes) for a in kernel.arguments]
    assert shown == [
        ("x", "float*", "global", Passing.BUFFER, 8, 1),
        ("c", "int*", "constant", Passing.BUFFER, 8, 1),
        ("l", "float*", "local", Passing.LOCAL, 8, 1),
        ("v", "float3", "private", Passing.VALUE, 16, 3),
        ("r", "R", "private", Passing.RECORD, 48, 1),
        ("n", "uchar", "private", Passing.VALUE, 1, 1),
    ]
    assert kernel.arguments[0].qualifiers == ("restrict",)
    assert kernel.arguments[4].fields == (
        (0, "f4"),
        (4, "i1"),
        (16, "f8"),
        (24, "f8"),
        (32, "f8"),
        (40, "f8"),
    )


@pytest.mark.parametrize("placed", [False, True])
def test_an_adopted_kernel(golden, placed: bool) -> None:
    program = build_source(PROGRAM, "-cl-std=CL3.0", file="k.cl")
    module = adopt_kernel(
        program.text,
        "k",
        scope=program.scope.offsets,
        placed=placed,
        small=True,
        sub_group_size=32,
        fused=True,
    )
    verify(module)
    text = re.sub(r",? !\w+ !\d+", "", write_module(module))
    lines = [
        line
        for line in text.splitlines()
        if line and not line.startswith(("!", ";", "source", "target", "    #dbg", "attributes", "declare"))
    ]
    golden("\n".join(lines) + "\n", "placed.ll" if placed else "plain.ll")


def test_layouts_of_types_agree() -> None:
    """What clang says of types for SPIR is what code for x86-64 goes by."""
    types = (
        "char",
        "short",
        "uchar3",
        "int3",
        "long",
        "float2",
        "double3",
        "half",
        "ushort4",
        "char16",
        "float16",
        "double8",
    )
    members = "".join(f"char c{k}; {type} m{k};" for k, type in enumerate(types))
    places = "".join(f"o[{k}] = __builtin_offsetof(T, m{k});" for k in range(len(types)))
    source = f"typedef struct {{ {members} }} T; kernel void k(global uint *o, T t) {{ {places} o[99] = sizeof(T); }}"
    program = opencl.Program(source)
    record = program.k.info.arguments[1]
    found = np.zeros(100, np.uint32)
    program.k(1, 1, found, np.zeros((), f"V{record.size}")[()])
    assert found[99] == record.size
    assert set(found[: len(types)].tolist()) <= {place for place, _ in record.fields}
    singles = [place for place, code in record.fields if code == "i1"]
    assert found[0] == singles[1]


def test_one_address_space() -> None:
    text = """
@t = dso_local addrspace(2) constant [2 x i8] c"a\\22", align 1
@u = internal addrspace(3) global i32 undef
define dso_local spir_func noundef range(i32 0, 9) i32 @f(ptr addrspace(1) noalias align 64 %p) #0 {
  %g = addrspacecast ptr addrspace(1) %p to ptr addrspace(4)
  %l = addrspacecast ptr addrspace(3) @u to ptr addrspace(4)
  %n = addrspacecast (ptr addrspace(2) getelementptr (i8, ptr addrspace(2) @t, i64 1) to ptr addrspace(4))
  call void @llvm.memcpy.p4.p1.i64(ptr addrspace(4) %g, ptr addrspace(1) %p, i64 4, i1 false)
  store atomic i32 1, ptr addrspace(1) %p syncscope("workgroup") seq_cst, align 32
}
attributes #0 = { convergent noinline nounwind }"""
    assert (
        flatten(text)
        == """
@t = internal constant [2 x i8] c"a\\22", align 1
@u = internal addrspace(3) global i32 undef
define internal noundef range(i32 0, 9) i32 @f(ptr align 16 %p) alwaysinline #0 {
  %g = bitcast ptr %p to ptr
  %l = addrspacecast ptr addrspace(3) @u to ptr
  %n = bitcast (ptr getelementptr (i8, ptr @t, i64 1) to ptr)
  call void @llvm.memcpy.p0.p0.i64(ptr %g, ptr %p, i64 4, i1 false)
  store atomic i32 1, ptr %p seq_cst, align 16
}
attributes #0 = { convergent nounwind }"""
    )


def written(format: str, *values: int | float) -> str:
    """What ``printf`` writes, as C does; a double for each float, a long for each integer."""
    letters = "%s" + "".join("f" if isinstance(v, float) else "u" for v in values)
    slots = struct.pack("<Q", 1)
    slots += b"".join(struct.pack("<d", v) if isinstance(v, float) else struct.pack("<q", v) for v in values)
    return format_line(letters, slots, lambda address: format)


@pytest.mark.parametrize(
    ("format", "values", "wanted"),
    [
        ("%d %i %u", (-1, 7, -1), "-1 7 4294967295"),
        ("%hhd %hd %ld %hhu", (255, -32769, -5, 511), "-1 32767 -5 255"),
        ("%#x %#X %o %#o %#x", (255, 255, 8, 8, 0), "0xff 0XFF 10 010 0"),
        ("[%5d] [%-5d] [%05d] [%+d] [% d] [%.3d] [%5.3d] [%.0d]", (42,) * 7 + (0,),
         "[   42] [42   ] [00042] [+42] [ 42] [042] [  042] []"),
        ("%f %.2f %10.3e %-8.1g|", (1.5, 2.675, 12345.678, 0.5), "1.500000 2.67  1.235e+04 0.5     |"),
        ("%a %.1a %A %a", (1.0, 1.96875, -0.5, 0.0), "0x1p+0 0x2.0p+0 -0X1P-1 0x0p+0"),
        ("%f %5.1f %F %+f %05f", (float("nan"), float("inf"), -float("inf"), float("inf"), float("inf")),
         "nan   inf -INF +inf   inf"),
        ("%v4d|%v2hlx|%5.1v2f|%c%%", (1, -2, 3, 4, 10, 11, 0.25, 3.0, 65), "1,-2,3,4|a,b|  0.2,  3.0|A%"),
        ("%d %d", (1,), "1 %d"),
    ],
)  # fmt: skip
def test_printf_writes_what_c_does(format: str, values: tuple, wanted: str) -> None:
    assert written(format, *values) == wanted
