"""Short vectors and aggregates are taken apart, and the program means the same."""

import itertools

import numpy as np
import pytest

from codegen.kernels import DECLARATIONS, Launch, agree, guarded, inputs, kernel_text, stored, widened
from codegen.machine_code import WIDTHS
from weft import interp
from weft.interp import Program
from weft.ir.layout import DataLayout
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.aggregates.replacement import take_apart
from weft.transform.aggregates.types import byte_offsets, components_of, is_composite

VECTOR = "  %p = getelementptr <4 x i32>, ptr %in, i64 %t15\n  %v = load <4 x i32>, ptr %p, align 4\n"
INDEX = "  %t15 = and i64 %tid, 15\n"
PAIR = "  %pp = getelementptr [2 x i32], ptr %in, i64 %tid\n  %w = load <2 x i32>, ptr %pp, align 8\n"
SUM = (
    "  %e0 = extractelement <4 x i32> {0}, i32 0\n  %e1 = extractelement <4 x i32> {0}, i32 1\n"
    "  %e2 = extractelement <4 x i32> {0}, i32 2\n  %e3 = extractelement <4 x i32> {0}, i32 3\n"
    "  %s1 = mul i32 %e0, 3\n  %s2 = add i32 %s1, %e1\n  %s3 = mul i32 %s2, 3\n  %s4 = add i32 %s3, %e2\n"
    "  %s5 = mul i32 %s4, 3\n  %r = add i32 %s5, %e3\n"
)


def summed(vector: str) -> str:
    return SUM.format(vector) + stored("%r")


BODIES = {
    "arithmetic": INDEX + VECTOR + "  %a = mul nsw <4 x i32> %v, splat (i32 3)\n"
    "  %b = sub <4 x i32> %a, <i32 1, i32 2, i32 3, i32 4>\n" + summed("%b"),
    "compare and select": INDEX + VECTOR + "  %cc = icmp ult <4 x i32> %v, splat (i32 20)\n"
    "  %n0 = xor <4 x i32> %v, splat (i32 -1)\n"
    "  %b = select <4 x i1> %cc, <4 x i32> %v, <4 x i32> %n0\n" + summed("%b"),
    "bits of a constant": INDEX + VECTOR + "  %cc = icmp ugt i64 %tid, 9\n  br i1 %cc, label %x, label %y\n"
    "x:\n  br label %y\ny:\n  %b = phi <4 x i32> [ %v, %entry ], "
    "[ bitcast (<2 x i64> <i64 4294967298, i64 12884901892> to <4 x i32>), %x ]\n" + summed("%b"),
    "scalar condition": INDEX + VECTOR + "  %cc = icmp ugt i64 %tid, 9\n"
    "  %b = select i1 %cc, <4 x i32> %v, <4 x i32> zeroinitializer\n" + summed("%b"),
    "shuffle": INDEX + VECTOR
    + "  %a = shufflevector <4 x i32> %v, <4 x i32> poison, <4 x i32> <i32 3, i32 0, i32 0, i32 1>\n"
    "  %b = shufflevector <4 x i32> %a, <4 x i32> %v, <4 x i32> <i32 7, i32 0, i32 5, i32 2>\n" + summed("%b"),
    "element by number": INDEX + VECTOR + "  %k = and i32 %t32, 3\n"
    "  %r = extractelement <4 x i32> %v, i32 %k\n" + stored("%r"),
    "insert by number": INDEX + VECTOR + "  %k = and i32 %t32, 3\n"
    "  %b = insertelement <4 x i32> %v, i32 77, i32 %k\n" + summed("%b"),
    "wider elements": INDEX + VECTOR + "  %l = bitcast <4 x i32> %v to <2 x i64>\n"
    "  %m = mul <2 x i64> %l, splat (i64 3)\n"
    "  %b = bitcast <2 x i64> %m to <4 x i32>\n" + summed("%b"),
    "narrower elements": PAIR + "  %l = bitcast <2 x i32> %w to <8 x i8>\n"
    "  %m = add <8 x i8> %l, splat (i8 7)\n"
    "  %q = bitcast <8 x i8> %m to i64\n" + stored("%q", "i64"),
    "float bits": PAIR + "  %f = bitcast <2 x i32> %w to <2 x float>\n  %g = fneg <2 x float> %f\n"
    "  %q = bitcast <2 x float> %g to i64\n" + stored("%q", "i64"),
    "vector store": PAIR + "  %s = add <2 x i32> %w, <i32 5, i32 6>\n"
    "  %o = getelementptr [2 x i32], ptr %out, i64 %tid\n"
    "  store <2 x i32> %s, ptr %o, align 4",
    "bits in memory": PAIR + "  %cc = icmp ult <2 x i32> %w, splat (i32 30)\n"
    "  %a = shufflevector <2 x i1> %cc, <2 x i1> zeroinitializer, "
    "<8 x i32> <i32 0, i32 1, i32 2, i32 0, i32 1, i32 1, i32 0, i32 3>\n"
    "  %o = getelementptr i8, ptr %out, i64 %tid\n"
    "  store <8 x i1> %a, ptr %o\n  %b = load <8 x i1>, ptr %o\n  %x = extractelement <8 x i1> %b, i32 4\n"
    "  %z = zext i1 %x to i8\n  store i8 %z, ptr %o",
    "structs": PAIR + "  %x = extractelement <2 x i32> %w, i32 0\n"
    "  %s = insertvalue { i32, [2 x i16] } poison, i32 %x, 0\n"
    "  %h = trunc i32 %t32 to i16\n  %a = insertvalue [2 x i16] [i16 1, i16 2], i16 %h, 1\n"
    "  %s2 = insertvalue { i32, [2 x i16] } %s, [2 x i16] %a, 1\n"
    "  %m = extractvalue { i32, [2 x i16] } %s2, 1\n"
    "  %y = extractvalue [2 x i16] %m, 1\n  %o = getelementptr { i32, [2 x i16] }, ptr %out, i64 %tid\n"
    "  store { i32, [2 x i16] } %s2, ptr %o\n  %l = load { i32, [2 x i16] }, ptr %o\n"
    "  %z = extractvalue { i32, [2 x i16] } %l, 1, 1\n  %zz = add i16 %z, %y\n"
    "  %oo = getelementptr i8, ptr %o, i64 4\n"
    "  store i16 %zz, ptr %oo",
    "loop": INDEX + VECTOR + "  br label %head\nhead:\n  %k = phi i32 [ 0, %entry ], [ %k1, %head ]\n"
    "  %a = phi <4 x i32> [ %v, %entry ], [ %b, %head ]\n"
    "  %b = add <4 x i32> %a, <i32 1, i32 2, i32 3, i32 4>\n"
    "  %k1 = add i32 %k, 1\n  %m = icmp ult i32 %k1, %u\n  br i1 %m, label %head, label %done\ndone:\n"
    "  %d = phi <4 x i32> [ %b, %head ]\n" + summed("%d"),
    "intrinsics": INDEX + VECTOR + "  %a = call <4 x i32> @llvm.umin.v4i32(<4 x i32> %v, <4 x i32> splat (i32 25))\n"
    "  %b = call <4 x i32> @llvm.ctlz.v4i32(<4 x i32> %a, i1 false)\n"
    "  %r = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %b)\n"
    "  %x = call i32 @llvm.vector.reduce.umax.v4i32(<4 x i32> %a)\n"
    "  %y = mul i32 %r, %x\n" + stored("%y"),
    **{f"{s}{op} with overflow": PAIR + "  %x = extractelement <2 x i32> %w, i32 0\n"
    "  %y = extractelement <2 x i32> %w, i32 1\n"
    f"  %o = call {{ i32, i1 }} @llvm.{s}{op}.with.overflow.i32(i32 %x, i32 %y)\n"
    f"  %ov = extractvalue {{ i32, i1 }} %o, 1\n"
    "  %re = extractvalue { i32, i1 } %o, 0\n  %r = select i1 %ov, i32 -7, i32 %re\n" + stored("%r")
    for s in "su" for op in ("add", "sub", "mul")},
    "compare and exchange": "  %q = getelementptr i32, ptr %out, i64 %tid\n"
    "  %x = cmpxchg ptr %q, i32 0, i32 %t32 monotonic monotonic\n"
    "  %z = extractvalue { i32, i1 } %x, 1\n  %old = extractvalue { i32, i1 } %x, 0\n"
    "  %y = cmpxchg weak ptr %q, i32 3, i32 %old monotonic monotonic\n"
    "  %zz = extractvalue { i32, i1 } %y, 1\n  %r = select i1 %zz, i32 500, i32 %t32\n"
    "  %r2 = select i1 %z, i32 %r, i32 -1\n  store i32 %r2, ptr %q",
}  # fmt: skip
DECLARED = """
declare <4 x i32> @llvm.umin.v4i32(<4 x i32>, <4 x i32>)
declare <4 x i32> @llvm.ctlz.v4i32(<4 x i32>, i1)
declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)
declare i32 @llvm.vector.reduce.umax.v4i32(<4 x i32>)
""" + "".join(
    f"declare {{ i32, i1 }} @llvm.{s}{op}.with.overflow.i32(i32, i32)\n"
    for s in "su"
    for op in ("add", "sub", "mul")
)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_taking_apart_keeps_what_the_program_means(body: str) -> None:
    text = kernel_text(body, DECLARED)
    apart = read_module(text)
    assert take_apart(apart.functions["kernel"])
    verify(apart)
    for instruction in apart.functions["kernel"].instructions():
        if "cmpxchg" not in (instruction.op, *(getattr(o, "op", "") for o in instruction.operands)):
            assert not any(is_composite(v.type) for v in (instruction, *instruction.operands))
    results = []
    for module in (read_module(text), apart):
        out = np.zeros(256, np.uint32)
        interp.launch(Program(module), "kernel", (inputs(), out, 37, 3), 1, 64)
        results.append(out)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(("name", "width"), list(zip(BODIES, itertools.cycle(WIDTHS), strict=False)))
def test_kernels_with_short_vectors_are_vectorized(name: str, width: int) -> None:
    body = BODIES[name]
    masked = len(name) % 2 and "br " not in body
    agree(kernel_text(guarded(body) if masked else body, DECLARED), width, None, (Launch(), Launch(45, 64)))


def test_vector_load_is_one_wide_access_for_all_lanes() -> None:
    text = widened(
        kernel_text(INDEX.replace("and i64 %tid, 15", "add i64 %tid, 0") + VECTOR + summed("%v")), 16
    )
    assert "gather" not in text and text.count("load <16 x i32>") == 4


def test_function_without_composites_is_left_alone() -> None:
    module = read_module("define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}" + DECLARATIONS)
    assert not take_apart(module.functions["f"])


def test_arguments_and_results_stay_whole() -> None:
    module = read_module(
        "define <2 x i32> @f(<2 x i32> %a, { i32, <2 x i32> } %s) {\n"
        "  %v = extractvalue { i32, <2 x i32> } %s, 1\n  %b = add <2 x i32> %a, %v\n  ret <2 x i32> %b\n}"
    )
    assert take_apart(module.functions["f"])
    verify(module)
    ops = [i.op for i in module.functions["f"].instructions()]
    assert ops.count("add") == 2 and ops.count("insertelement") == 2 and ops[-1] == "ret"


def test_components_and_their_places_in_memory() -> None:
    module = read_module("define void @f({ i8, <2 x float>, [2 x { i16, i64 }] } %s) {\n  ret void\n}")
    type = module.functions["f"].args[0].type
    found = components_of(type)
    assert found is not None
    assert [c.path for c in found] == [(0,), (1, 0), (1, 1), (2, 0, 0), (2, 0, 1), (2, 1, 0), (2, 1, 1)]
    assert byte_offsets(type, DataLayout()) == [0, 8, 12, 16, 24, 32, 40]
