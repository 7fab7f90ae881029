"""Poison and undef are tracked through use; what depends on poison where it must not is a fault."""

import numpy as np
import pytest

from weft import interp
from weft.errors import InterpError
from weft.ir.reader import read_module


def flags_of(body: str, result: str = "i32", declarations: str = "", params: str = "i32 %a") -> np.ndarray:
    """The flags of a function's result for one thread, or per element of a vector."""
    module = read_module(f"{declarations}\ndefine {result} @f({params}) {{\n{body}\n}}")
    arguments = [3 for _ in params.split(",")] if params else []
    outcome = interp.run_function(module, "f", arguments, 1)
    return np.zeros(1, np.uint8) if outcome.flags is None else np.asarray(outcome.flags)[0]


def is_poison(body: str, **kwargs: str) -> bool:
    return bool(flags_of(body, **kwargs) & interp.POISON)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("add nsw i8 100, 27", False),
        ("add nsw i8 100, 28", True),
        ("add i8 100, 28", False),
        ("add nuw i8 -1, 1", True),
        ("add nuw i8 100, 100", False),
        ("sub nuw i8 3, 4", True),
        ("sub nuw i8 4, 4", False),
        ("sub nsw i8 -100, 29", True),
        ("sub nsw i8 -100, 28", False),
        ("mul nsw i8 16, 8", True),
        ("mul nsw i8 16, 7", False),
        ("mul nsw i8 -16, 8", False),
        ("mul nuw i8 16, 16", True),
        ("mul nuw i8 16, 15", False),
        ("mul nsw i64 4294967296, 2147483648", True),
        ("mul nsw i64 4294967296, -2147483648", False),
        ("mul nsw i64 4294967296, 2147483647", False),
        ("mul nuw i64 4294967296, 4294967296", True),
        ("mul nuw i64 4294967296, 4294967295", False),
        ("mul nsw i13 64, 64", True),
        ("mul nsw i13 64, 63", False),
        ("shl i8 1, 8", True),
        ("shl i8 1, 7", False),
        ("shl nsw i8 1, 7", True),
        ("shl nuw i8 1, 7", False),
        ("shl nuw i8 3, 7", True),
        ("shl nsw i8 -1, 7", False),
        ("lshr exact i8 6, 1", False),
        ("lshr exact i8 7, 1", True),
        ("ashr exact i8 -6, 1", False),
        ("ashr exact i8 -7, 1", True),
        ("udiv exact i8 6, 3", False),
        ("udiv exact i8 7, 3", True),
        ("sdiv exact i8 -6, 3", False),
        ("sdiv exact i8 -7, 3", True),
        ("or disjoint i8 5, 2", False),
        ("or disjoint i8 5, 4", True),
        ("add nsw i128 170141183460469231731687303715884105727, 1", True),
        ("add nsw i128 170141183460469231731687303715884105726, 1", False),
    ],
)
def test_flags_make_poison_exactly_when_they_are_violated(instruction: str, expected: bool) -> None:
    type = instruction.split(",")[0].split()[-2]
    assert is_poison(f"  %r = {instruction}\n  ret {type} %r", result=type) is expected


@pytest.mark.parametrize(
    ("instruction", "result", "expected"),
    [
        ("trunc nuw i16 255 to i8", "i8", False),
        ("trunc nuw i16 256 to i8", "i8", True),
        ("trunc nsw i16 -128 to i8", "i8", False),
        ("trunc nsw i16 128 to i8", "i8", True),
        ("zext nneg i8 127 to i16", "i16", False),
        ("zext nneg i8 128 to i16", "i16", True),
        ("uitofp nneg i8 128 to float", "float", True),
        ("uitofp nneg i8 127 to float", "float", False),
        ("icmp samesign ult i8 -1, 1", "i1", True),
        ("icmp samesign ult i8 1, 2", "i1", False),
        ("fptosi float 128.0 to i8", "i8", True),
        ("fptosi float -128.5 to i8", "i8", False),
        ("fptoui float -0.5 to i8", "i8", False),
        ("fptoui float 0x7FF8000000000000 to i8", "i8", True),
        ("fadd nnan float 0x7FF0000000000000, 0xFFF0000000000000", "float", True),
        ("fadd nnan float 0x7FF0000000000000, 1.0", "float", False),
        ("fadd ninf float 0x7FF0000000000000, 1.0", "float", True),
        ("fmul fast double 0x7FE0000000000000, 2.0", "double", True),
        ("fcmp nnan oeq float 0x7FF8000000000000, 0.0", "i1", True),
    ],
)
def test_flags_of_casts_and_compares(instruction: str, result: str, expected: bool) -> None:
    assert is_poison(f"  %r = {instruction}\n  ret {result} %r", result=result) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  %r = add i32 poison, 1", True),
        ("  %r = and i32 poison, 0", True),
        ("  %r = select i1 true, i32 %a, i32 poison", False),
        ("  %r = select i1 false, i32 %a, i32 poison", True),
        ("  %r = select i1 poison, i32 %a, i32 %a", True),
        ("  %p = freeze i32 poison\n  %r = add i32 %p, 1", False),
        ("  %p = freeze i32 %a\n  %r = add i32 %p, 1", False),
        ("  %v = insertelement <2 x i32> poison, i32 %a, i32 0\n  %r = extractelement <2 x i32> %v, i32 0", False),
        ("  %v = insertelement <2 x i32> poison, i32 %a, i32 0\n  %r = extractelement <2 x i32> %v, i32 1", True),
        ("  %r = extractelement <2 x i32> zeroinitializer, i32 2", True),
        ("  %v = insertelement <2 x i32> splat (i32 1), i32 1, i32 2\n  %r = extractelement <2 x i32> %v, i32 0", True),
        (
            "  %v = shufflevector <2 x i32> zeroinitializer, <2 x i32> poison, <2 x i32> <i32 0, i32 poison>\n"
            "  %r = extractelement <2 x i32> %v, i32 0",
            False,
        ),
        (
            "  %v = shufflevector <2 x i32> zeroinitializer, <2 x i32> poison, <2 x i32> <i32 0, i32 3>\n"
            "  %r = extractelement <2 x i32> %v, i32 1",
            True,
        ),
        (
            "  %s = insertvalue { i32, i32 } poison, i32 %a, 0\n  %r = extractvalue { i32, i32 } %s, 0",
            False,
        ),
        (
            "  %s = insertvalue { i32, i32 } poison, i32 %a, 0\n  %r = extractvalue { i32, i32 } %s, 1",
            True,
        ),
        (
            "  %v = bitcast <2 x i16> <i16 1, i16 poison> to i32\n  %r = add i32 %v, 0",
            True,
        ),
        (
            "  %v = bitcast <4 x i16> <i16 1, i16 2, i16 3, i16 poison> to <2 x i32>\n"
            "  %r = extractelement <2 x i32> %v, i32 0",
            False,
        ),
        (
            "  %v = bitcast <4 x i16> <i16 1, i16 2, i16 3, i16 poison> to <2 x i32>\n"
            "  %r = extractelement <2 x i32> %v, i32 1",
            True,
        ),
        (
            "  %w = bitcast <2 x i64> <i64 1, i64 poison> to <4 x i32>\n  %r = extractelement <4 x i32> %w, i32 1",
            False,
        ),
        (
            "  %w = bitcast <2 x i64> <i64 1, i64 poison> to <4 x i32>\n  %r = extractelement <4 x i32> %w, i32 2",
            True,
        ),
    ],
)  # fmt: skip
def test_poison_follows_the_elements_it_is_in(body: str, expected: bool) -> None:
    assert is_poison(body + "\n  ret i32 %r") is expected


def test_poison_survives_a_way_through_memory() -> None:
    body = """  %m = alloca [2 x i32]
  %q = getelementptr i32, ptr %m, i64 1
  store i32 poison, ptr %m
  store i32 %a, ptr %q
  %r = load i32, ptr {}
  ret i32 %r"""
    assert is_poison(body.format("%m"))
    assert not is_poison(body.format("%q"))


def test_memory_that_was_never_written_gives_undef_and_a_copy_of_it_is_undef() -> None:
    body = """  %m = alloca i64
  %n = alloca i64
  store i32 7, ptr %m
  call void @llvm.memcpy.p0.p0.i64(ptr %n, ptr %m, i64 8, i1 false)
  %q = getelementptr i32, ptr %n, i64 {}
  %r = load i32, ptr %q
  ret i32 %r"""
    declare = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    assert flags_of(body.format(1), declarations=declare) == interp.UNDEF
    assert flags_of(body.format(0), declarations=declare) == 0


def test_overwriting_poison_in_memory_makes_it_well_defined() -> None:
    body = """  %m = alloca i32
  store i32 poison, ptr %m
  store i32 1, ptr %m
  %r = load i32, ptr %m
  ret i32 %r"""
    assert flags_of(body) == 0


def test_a_branch_on_undef_is_taken_some_way_but_on_poison_is_a_fault() -> None:
    body = """  br i1 {}, label %x, label %y
x:
  ret i32 1
y:
  ret i32 2"""
    assert flags_of(body.format("undef")) == 0
    with pytest.raises(InterpError, match="branch on a value that is poison"):
        flags_of(body.format("poison"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %r = load i32, ptr poison", "load through a pointer that is poison"),
        ("  store i32 1, ptr poison\n  %r = add i32 %a, 0", "store through a pointer that is poison"),
        ("  %r = udiv i32 %a, poison", "division by poison"),
        ("  %r = udiv i32 %a, 0", "integer division by zero"),
        ("  %r = sdiv i32 -2147483648, -1", "signed division overflows"),
        ("  call void @llvm.assume(i1 false)\n  %r = add i32 %a, 0", "an assumption does not hold"),
        ("  call void @llvm.assume(i1 poison)\n  %r = add i32 %a, 0", "an assumption does not hold"),
    ],
)
def test_undefined_behaviour_is_a_fault(body: str, message: str) -> None:
    with pytest.raises(InterpError, match=message):
        flags_of(body + "\n  ret i32 %r", declarations="declare void @llvm.assume(i1)")


MASKED = """
declare <2 x i32> @llvm.masked.load.v2i32.p0(ptr, <2 x i1>, <2 x i32>)
declare void @llvm.masked.store.v2i32.p0(<2 x i32>, ptr, <2 x i1>)"""


@pytest.mark.parametrize(
    "access",
    [
        "%v = call <2 x i32> @llvm.masked.load.v2i32.p0(ptr %p, <2 x i1> {mask}, <2 x i32> zeroinitializer)",
        "call void @llvm.masked.store.v2i32.p0(<2 x i32> zeroinitializer, ptr %p, <2 x i1> {mask})",
    ],
)
def test_a_poison_element_in_the_mask_of_a_memory_access_is_a_fault(access: str) -> None:
    body = "  %p = alloca <2 x i32>\n  {}\n  ret i32 %a"
    assert flags_of(body.format(access.format(mask="<i1 1, i1 0>")), declarations=MASKED) == 0
    with pytest.raises(InterpError, match="element 1 of the mask is poison"):
        flags_of(body.format(access.format(mask="<i1 1, i1 poison>")), declarations=MASKED)


def test_a_masked_off_element_may_lie_outside_of_memory() -> None:
    body = """  %p = alloca i32
  store i32 5, ptr %p
  %v = call <2 x i32> @llvm.masked.load.v2i32.p0(ptr %p, <2 x i1> <i1 1, i1 0>, <2 x i32> zeroinitializer)
  %r = extractelement <2 x i32> %v, i32 0
  ret i32 %r"""
    assert flags_of(body, declarations=MASKED) == 0


def test_poison_in_a_passive_thread_is_no_fault() -> None:
    module = read_module("""
define i32 @f(i32 %v, i1 %p) {
A:
  br i1 %p, label %B, label %C
B:
  %q = udiv i32 10, %v
  br label %C
C:
  %r = phi i32 [ 0, %A ], [ %q, %B ]
  ret i32 %r
}""")
    outcome = interp.run_function(module, "f", [np.array([0, 5]), np.array([False, True])], 2)
    assert outcome.data.tolist() == [0, 2] and outcome.flags is None


def test_freeze_gives_every_use_the_same_value() -> None:
    module = read_module(
        "define i32 @f() {\n  %f = freeze i32 poison\n  %r = sub i32 %f, %f\n  ret i32 %r\n}"
    )
    outcome = interp.run_function(module, "f", [], 1)
    assert outcome.data.tolist() == [0]


def test_what_is_frozen_keeps_its_value_when_it_is_frozen_again() -> None:
    module = read_module("""
define i32 @f() {
  %p = freeze i32 poison
  %a = add i32 %p, 5
  %b = freeze i32 %a
  %r = sub i32 %b, %p
  ret i32 %r
}""")
    assert interp.run_function(module, "f", [], 1).data.tolist() == [5]


@pytest.mark.parametrize(
    ("a", "b", "known"), [("i32 7", "i32 7", True), ("i32 7", "i32 8", False), ("i32 %p", "i32 0", False)]
)
def test_arbitrary_choice_between_one_value_is_that_value(a: str, b: str, known: bool) -> None:
    """A mask that is off stays off, whatever is asked under it."""
    module = read_module(f"""
define i32 @f() {{
  %p = freeze i32 poison
  %c = freeze i1 poison
  %r = select i1 %c, {a}, {b}
  ret i32 %r
}}""")
    assert (interp.run_function(module, "f", [], 1).flags is None) == known


def test_choice_by_poison_is_poison() -> None:
    module = read_module("define i32 @f() {\n  %r = select i1 poison, i32 7, i32 7\n  ret i32 %r\n}")
    assert interp.run_function(module, "f", [], 1).flags is not None


def test_an_object_whose_life_begins_anew_is_undefined() -> None:
    module = read_module("""
declare void @llvm.lifetime.start.p0(ptr)
define i32 @f(i1 %again) {
A:
  %x = alloca i32
  store i32 7, ptr %x
  br i1 %again, label %B, label %C
B:
  call void @llvm.lifetime.start.p0(ptr %x)
  br label %C
C:
  %r = load i32, ptr %x
  ret i32 %r
}""")
    outcome = interp.run_function(module, "f", [np.array([False, True])], 2)
    assert outcome.flags is not None
    assert outcome.flags.tolist() == [0, interp.UNDEF]
    assert outcome.data[0] == 7
