"""What the SIMD function of a kernel looks like: what stays scalar, and which form each access and call takes."""

import re

import pytest

from codegen.kernels import agree, guarded, kernel_text, stored, widened
from weft.machine.targets import AVX2, SSE2, Isa

LOAD = "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"
GATHERED = "  %k = and i32 {value}, 255\n  %g = getelementptr i32, ptr %in, i32 %k\n  %w = load i32, ptr %g\n"


def lines(text: str, pattern: str) -> list[str]:
    """The lines of a function that match."""
    return [line.strip() for line in text.splitlines() if re.search(pattern, line)]


def test_uniform_values_stay_scalar() -> None:
    text = widened(kernel_text("  %a = mul i32 %u, %u\n  %b = udiv i32 %a, 7\n" + stored("%b")))
    assert lines(text, "mul i32 %u, %u") and lines(text, r"udiv i32 %a, 7")
    assert not lines(text, r"(mul|udiv) <8 x i32>")


def test_strided_values_become_vectors_only_where_a_vector_is_needed() -> None:
    kernel = "  %a = add i32 %t32, 10\n  %b = mul i32 %a, 3\n"
    assert not lines(widened(kernel_text(kernel + "  store i32 %u, ptr %out")), "<8 x i32>")
    text = widened(kernel_text(kernel + stored("%b")))
    assert not lines(text, "mul <8 x i32>")
    assert lines(text, "add <8 x i32> .*<i32 0, i32 3, i32 6, i32 9, i32 12, i32 15, i32 18, i32 21>")


def test_accesses_without_a_mask_are_plain_vector_accesses() -> None:
    text = widened(kernel_text(LOAD + stored("%v")))
    assert lines(text, "load <8 x i32>, ptr %p, align 4") and lines(
        text, "store <8 x i32> %v, ptr %at, align 4"
    )
    assert "masked" not in text


def test_alignment_of_a_vector_access_is_that_of_one_element() -> None:
    text = widened(
        kernel_text(
            "  %p = getelementptr i64, ptr %in, i64 %tid\n  %v = load i64, ptr %p\n" + stored("%v", "i64")
        )
    )
    assert lines(text, "load <8 x i64>.*align 8") and lines(text, "store <8 x i64>.*align 8")


def test_accesses_under_a_mask_carry_it() -> None:
    text = widened(kernel_text(guarded(LOAD + stored("%v"))))
    assert lines(text, r"masked.load.v8i32.p0\(ptr align 4 %p, <8 x i1> %c")
    assert lines(text, r"masked.store.v8i32.p0\(.*<8 x i1> %c\)")


def test_descending_addresses_are_one_access_and_a_reversal() -> None:
    body = "  %k = sub i64 63, %tid\n  %p = getelementptr i32, ptr %in, i64 %k\n  %v = load i32, ptr %p, align 4\n"
    text = widened(kernel_text(body + stored("%v")))
    assert lines(text, "getelementptr i8, ptr %p, i64 -28") and lines(text, "load <8 x i32>")
    assert lines(text, "shufflevector .*<i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>")
    masked = widened(kernel_text(guarded(body + stored("%v"))))
    assert lines(masked, "shufflevector <8 x i1> %c") and lines(masked, "masked.load")


def test_other_addresses_are_gathered_and_scattered() -> None:
    text = widened(kernel_text(LOAD + GATHERED.format(value="%v")
                               + "  %q = getelementptr i32, ptr %out, i32 %k\n  store i32 %w, ptr %q"))  # fmt: skip
    assert lines(text, r"getelementptr i32, ptr %in, <8 x i64>")
    assert lines(text, r"masked.gather.v8i32.v8p0") and lines(text, r"masked.scatter.v8i32.v8p0")


def test_uniform_access_is_made_once() -> None:
    """A lane group, that is: behind a store; before it, it would be made once for all of them."""
    text = widened(kernel_text("  store i32 %u, ptr %out\n  %v = load i32, ptr %in\n" + stored("%v")))
    assert lines(text, "load i32, ptr %in") and not lines(text, "load <8")


def test_uniform_access_goes_elsewhere_where_no_lane_is_active() -> None:
    text = widened(kernel_text(guarded("  %v = load i32, ptr %in\n  store i32 %v, ptr %out")))
    assert lines(text, "%spare = alloca i32")
    assert lines(text, r"select i1 %\d+, ptr %in, ptr %nothing") and lines(
        text, r"select i1 %\d+, ptr %out, ptr %spare"
    )
    assert not lines(text, "(load|store) .*ptr %(in|out)")


@pytest.mark.parametrize("isa", [SSE2, AVX2], ids=lambda isa: isa.name)
def test_passive_lanes_load_zeros_not_what_is_left_on_the_stack(isa: Isa) -> None:
    place = "  %g = getelementptr double, ptr %in, i32 %k\n  %w = load double, ptr %g\n"
    body = LOAD + "  %k = and i32 %v, 255\n" + place + "  %q = getelementptr double, ptr %out, i32 %k\n"
    text = widened(kernel_text(guarded(body + "  store double %w, ptr %q")), isa=isa)
    assert lines(text, "store double 0.*, ptr %nothing")
    assert lines(text, "insertelement <8 x ptr> poison, ptr %nothing")
    # What passive lanes store stays apart from it.
    assert lines(text, "insertelement <8 x ptr> poison, ptr %spare")


def test_one_test_for_active_lanes_serves_a_block() -> None:
    once = "  %v = load i32, ptr %in\n  store i32 %v, ptr %out"
    own = "%p = getelementptr i32, ptr %in, i64 %tid\n  %own = load i32, ptr %p\n  %c = icmp slt i32 %own, 5"
    assert len(lines(widened(kernel_text(guarded(once, own))), "icmp ne i8")) == 1
    # Whether the first of the lanes that a guard leaves is one is a comparison of its number.
    text = widened(kernel_text(guarded(once)))
    assert not lines(text, "icmp ne i8") and len(lines(text, "icmp slt i32")) == 1


def test_passive_lanes_divide_by_one() -> None:
    body = (
        LOAD
        + "  %l = sext i32 %v to i64\n  %d = sdiv i64 %tid, %l\n  %r = trunc i64 %d to i32\n"
        + stored("%r")
    )
    text = widened(kernel_text(guarded(body)))
    (chosen,) = lines(text, r"select <8 x i1> %c, <8 x i64> .*, <8 x i64> splat \(i64 1\)")
    # Divided as doubles where they are small (`weft.target.rewrites.ordinary_lanes`).
    assert lines(text, rf"@weft\.ordinary\.sdiv\.v8i64\(<8 x i64> .*, <8 x i64> {chosen.split()[0]}\)")
    assert "select" not in widened(kernel_text(body))


def test_short_integers_are_divided_as_floats_which_passive_lanes_cannot_disturb() -> None:
    text = widened(kernel_text(guarded(LOAD + "  %d = urem i32 %t32, %v\n" + stored("%d"))))
    assert lines(text, "fdiv <8 x double>") and lines(text, "fptoui <8 x double>.* to <8 x i32>")
    assert not lines(text, "urem") and not lines(text, "select <8")


def test_division_by_a_harmless_constant_needs_no_guard() -> None:
    assert "select" not in widened(kernel_text(guarded(LOAD + "  %d = sdiv i32 %v, 7\n" + stored("%d"))))


def test_uniform_condition_selects_whole_vectors() -> None:
    text = widened(
        kernel_text(LOAD + "  %c = icmp eq i32 %u, 2\n  %r = select i1 %c, i32 %v, i32 %t32\n" + stored("%r"))
    )
    assert lines(text, "select i1 %c, <8 x i32> %v, <8 x i32>")


def test_intrinsics_take_their_vector_form() -> None:
    text = widened(kernel_text(
        LOAD + "  %a = call i32 @llvm.smax.i32(i32 %v, i32 %u)\n  %b = call i32 @llvm.ctlz.i32(i32 %a, i1 true)\n"
        + stored("%b"), "declare i32 @llvm.smax.i32(i32, i32)\ndeclare i32 @llvm.ctlz.i32(i32, i1)\n",
    ))  # fmt: skip
    assert lines(text, r"@llvm.smax.v8i32\(") and lines(text, r"@llvm.ctlz.v8i32\(<8 x i32> %a, i1 true\)")


INTRINSICS = {
    "i8 @llvm.scmp.i8.i32(i32 %v, i32 %t32)": "llvm.scmp.v8i8.v8i32",
    "float @llvm.ldexp.f32.i32(float 1.5, i32 %k)": "llvm.ldexp.v8f32.v8i32",
    "i32 @llvm.lrint.i32.f32(float %g)": "llvm.lrint.v8i32.v8f32",
    "i32 @llvm.fptosi.sat.i32.f32(float %f)": "",
    "float @llvm.powi.f32.i32(float %f, i32 %u)": "llvm.powi.v8f32.i32",
    "i1 @llvm.is.fpclass.f32(float %h, i32 144)": "llvm.is.fpclass.v8f32",
    "i32 @llvm.fshl.i32(i32 %v, i32 %k, i32 %t32)": "llvm.fshl.v8i32",
    "i32 @llvm.expect.i32(i32 %v, i32 3)": "",
}
"""A call of an intrinsic, and the vector form that it takes, if it is one call."""


@pytest.mark.parametrize("call", INTRINSICS)
def test_intrinsics_have_the_meaning_of_their_scalar_form(call: str) -> None:
    type, rest = call.split(" ", 1)
    name, arguments = rest.rstrip(")").split("(")
    parameters = ", ".join(argument.split()[0] for argument in arguments.split(", "))
    word = {"i32": "  %r = add i32 %x, 0\n", "float": "  %r = bitcast float %x to i32\n"}.get(
        type, f"  %r = sext {type} %x to i32\n"
    )
    numbers = "  %k = and i32 %v, 15\n  %f = uitofp i32 %v to float\n  %g = uitofp i32 %k to float\n"
    numbers += "  %h = bitcast i32 %v to float\n"
    body = LOAD + numbers + f"  %x = call {call}\n{word}" + stored("%r")
    text = kernel_text(
        guarded(body), f"declare {type} {name}({parameters}) memory(none) willreturn nounwind\n"
    )
    vector = INTRINSICS[call]
    made = widened(text)
    assert f"@{vector}(" in made if vector else "expect" not in made
    assert "llvm.cttz" not in made
    agree(text, 8, None)


def test_other_calls_run_for_each_active_lane() -> None:
    text = widened(
        kernel_text(guarded(LOAD + "  %r = call i32 @f(i32 %v)\n" + stored("%r")), "declare i32 @f(i32)\n")
    )
    assert lines(text, r"bitcast <8 x i1> %c to i8") and lines(text, r"call i64 @llvm.cttz.i64")
    assert len(lines(text, r"call i32 @f\(i32 %\d+\)")) == 1


def test_uniform_call_happens_once_and_only_where_a_lane_is_active() -> None:
    pure = 'declare i32 @f(i32) nounwind willreturn memory(none) "weft.uniform"\n'
    free = widened(kernel_text("  %r = call i32 @f(i32 %u)\n" + stored("%r"), pure))
    assert lines(free, r"call i32 @f\(i32 %u\)") and not lines(free, "br i1")
    masked = widened(kernel_text(guarded("  %r = call i32 @f(i32 %u)\n" + stored("%r")), pure))
    assert lines(masked, r"br i1 %\d+, label %once, label %once.done")
    assert len(lines(masked, r"call i32 @f\(i32 %u\)")) == 1


def test_atomics_run_for_each_active_lane() -> None:
    text = widened(kernel_text(guarded("  %o = atomicrmw xchg ptr %out, i32 1 monotonic")))
    assert len(lines(text, "atomicrmw xchg ptr %out, i32 1 monotonic")) == 1 and lines(text, "@llvm.cttz.i64")


def test_volatile_accesses_run_for_each_active_lane() -> None:
    text = widened(kernel_text("  %v = load volatile i32, ptr %in\n" + stored("%v")))
    assert len(lines(text, "load volatile i32, ptr %in")) == 8


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32, 64])
def test_stack_objects_of_lanes_lie_side_by_side(width: int) -> None:
    body = (
        "  %s = alloca [3 x i32], align 4\n  %i = urem i32 %t32, 3\n  %e = getelementptr i32, ptr %s, i32 %i\n"
        "  store volatile i32 %t32, ptr %e\n  %r = load volatile i32, ptr %e\n"
    )
    text = widened(kernel_text(body + stored("%r")), width)
    assert lines(text, rf"%s = alloca \[{12 * width} x i8\], align 16")
    assert lines(text, rf"getelementptr i8, ptr %s, <{width} x i64> <i64 0, i64 12")


def test_values_that_decide_only_uniform_branches_stay_scalar() -> None:
    text = widened(kernel_text(
        LOAD + "  br label %head\nhead:\n  %i = phi i32 [ 0, %entry ], [ %j, %head ]\n"
        "  %a = phi i32 [ %v, %entry ], [ %b, %head ]\n  %b = mul i32 %a, %a\n  %j = add i32 %i, 1\n"
        "  %m = icmp ult i32 %j, %u\n  br i1 %m, label %head, label %done\ndone:\n" + stored("%b")
    ))  # fmt: skip
    assert lines(text, "phi i32") and lines(text, "phi <8 x i32>") and len(lines(text, r"br i1 %m, ")) == 1
