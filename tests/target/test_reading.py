"""LLVM IR of other compilers: older forms, bytes that are no UTF-8, and what LLVM refuses."""

from __future__ import annotations

import random
import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from foreign_ir import canonical_module
from weft.diag.errors import CompileError, IRSyntaxError, WeftError
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.loops.llvm_ir import vectorize_ir
from weft.report.llvm_programs import text_program
from weft.target.llvm import print_module
from weft.target.machine import TargetSpec
from weft.target.reading import decode_text, read_foreign

LIFETIMES = """
declare void @llvm.lifetime.start.p0(i64, ptr)
declare void @llvm.lifetime.end.p0(i64, ptr)
declare void @fill(ptr)

define float @f(float %x) {
  %a = alloca [4 x float]
  call void @llvm.lifetime.start.p0(i64 16, ptr %a)
  store float %x, ptr %a
  %y = load float, ptr %a
  call void @llvm.lifetime.end.p0(i64 16, ptr %a)
  ret float %y
}

define void @g(ptr sret({ float, float }) %r, ptr byval({ float, float }) %p) {
  %v = load float, ptr %p
  store float %v, ptr %r
  ret void
}

define float @h() {
  %r = alloca { float, float }
  %p = alloca { float, float }
  call void @llvm.lifetime.start.p0(i64 8, ptr %p)
  call void @g(ptr sret({ float, float }) %r, ptr byval({ float, float }) %p)
  %y = load float, ptr %r
  ret float %y
}
"""

OLD = [
    (
        "declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)",
        "@llvm.masked.load.v4i32.p0(ptr captures(none), <4 x i1>, <4 x i32>)",
    ),
    (
        "declare i64 @llvm.objectsize.i64.p0(ptr, i1)",
        "@llvm.objectsize.i64.p0(ptr, i1 immarg, i1 immarg, i1 immarg",
    ),
    ("declare i32 @llvm.ctlz.i32(i32)", "@llvm.ctlz.i32(i32, i1 immarg)"),
    ("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i32, i1)", "i64, i1 immarg)"),
    ("declare void @f() readnone", "memory(none)"),
    ("declare void @f() argmemonly nounwind", "memory(argmem: readwrite)"),
]


@pytest.mark.parametrize(("text", "today"), OLD, ids=[old[0] for old in OLD])
def test_older_forms_are_read_in_todays_form(text: str, today: str) -> None:
    module, shown = read_foreign(text + "\n", "old.ll")
    assert today in shown
    llvm.parse_assembly(write_module(module, plain=True)).verify()


def test_kernels_marked_by_annotations_are_kernels() -> None:
    text = "define void @k() {\n  ret void\n}\n!nvvm.annotations = !{!0}\n"
    module, _ = read_foreign(f'{text}!0 = !{{ptr @k, !"kernel", i32 1}}\n', "k.ll")
    assert module.functions["k"].calling_convention == "ptx_kernel"


def test_lifetimes_of_before_llvm_22_go_through_all_doors() -> None:
    assert "[4 x float]" in write_module(text_program(LIFETIMES, "old.ll").module, plain=True)
    for name in "fh":
        assert "@_ZGV" in vectorize_ir(LIFETIMES, name, args="T" if name == "f" else "", width=8).llvm


def test_what_is_in_todays_form_is_read_as_it_stands() -> None:
    text = (
        "; one\n\ndeclare float @llvm.sqrt.f32(float)\n\n\ndefine float @f(float %x) {\n  ret float %x\n}\n"
    )
    assert read_foreign(text, "f.ll")[1] == text


def test_each_calling_convention_of_llvm_is_read_and_written() -> None:
    text = "".join(f"declare cc {n} void @f{n}()\n" for n in range(1024))
    shown = str(llvm.parse_assembly(text))
    written = write_module(read_module(shown), plain=True)
    assert re.findall("(?m)^declare.*", str(llvm.parse_assembly(written))) == re.findall(
        "(?m)^declare.*", shown
    )


def test_bytes_that_are_no_utf_8_keep_their_meaning() -> None:
    data = b'; caf\xe9\n@"n\xe9" = constant [2 x i8] c"\xe9\x80"\ndefine ptr @f() {\n  ret ptr @"n\xe9"\n}\n'
    module, text = read_foreign(decode_text(data), "latin.ll")
    assert "\\E9\\80" in text
    llvm.parse_assembly(write_module(module, plain=True)).verify()
    assert 'c"\\E9\\80"' in vectorize_ir(data.decode("utf-8", "surrogateescape"), "f", width=4).llvm


def test_what_llvm_refuses_is_shown_at_its_place() -> None:
    with pytest.raises(CompileError) as caught:
        read_foreign("define void @f(i8* %p) {\n  load i8, i8* %p\n  ret voidd\n}\n", "typed.ll")
    assert str(caught.value).startswith("typed.ll:3:")
    with pytest.raises(CompileError) as caught:
        read_foreign("define i8 @f(i8** %p) {\n  %x = load i8*, i8** %p\n  ret i9 0\n}\n", "typed.ll")
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "text",
    [
        'target datalayout = "e-p270:3every"\n',
        "; é\ndefine é void @f() {\n  ret void\n}\n",
        f"@x = global {'[1 x ' * 5000}i8{']' * 5000} zeroinitializer\n",
        "%o = type opaque\ndefine void @f() {\n  %x = alloca %o\n  ret void\n}\n",
        "",
        "\0",
    ],
    ids=["layout", "letters", "nesting", "opaque", "empty", "zero"],
)
def test_nothing_but_errors_of_weft_comes_of_malformed_text(text: str) -> None:
    with pytest.raises(WeftError):
        text_program(text, "f.ll")
    if text:
        with pytest.raises(WeftError):
            vectorize_ir(text, "f")


def test_what_weft_does_not_read_is_shown_in_the_line_of_the_file() -> None:
    text = "\n\n\ndeclare void @g() nocapture_nothing\n"
    with pytest.raises((IRSyntaxError, CompileError)) as caught:
        read_foreign(text, "f.ll")
    assert caught.value.span is not None and caught.value.span.line == 4


TEXTS = [p.read_text() for p in sorted((Path(__file__).parents[1] / "ir" / "ll").glob("*.ll"))] + [LIFETIMES]


def damaged(number: int) -> str:
    """One of the texts with a few tokens lost, doubled or exchanged."""
    rng = random.Random(number)
    tokens = re.findall(r"\s+|[\w.]+|\W", rng.choice(TEXTS))
    for _ in range(rng.randint(1, 3)):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(5):
            case 0:
                del tokens[i : i + rng.randint(1, 3)]
            case 1:
                tokens[i] = tokens[j]
            case 2:
                tokens.insert(i, tokens[j])
            case 3:
                tokens[i] = rng.choice(
                    ["\udce9", "é", '"', "-1", "99999999999999999999", "ptr", "{", "!", "i0"]
                )
            case _:
                tokens = tokens[: max(i, 2)]
    return "".join(tokens)


@pytest.mark.parametrize("number", range(60))
def test_damaged_text_raises_nothing_but_errors_of_weft(number: int) -> None:
    text = damaged(number)
    for read in (
        lambda: text_program(text, "d.ll"),
        lambda: canonical_module(text, TargetSpec.chosen(), "d.ll"),
    ):
        try:
            read()
        except WeftError as error:
            str(error).encode()


def test_names_of_debug_information_that_llvm_has_changed_are_read() -> None:
    """Clang 20 and before call kernels of OpenCL so; LLVM 22 reads the new name alone."""
    text = """
define void @k() !dbg !2 {
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!4}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.cl", directory: "")
!2 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1, type: !3, spFlags: DISPFlagDefinition, unit: !0)
!3 = !DISubroutineType(cc: DW_CC_LLVM_OpenCLKernel, types: !{null})
!4 = !{i32 2, !"Debug Info Version", i32 3}
"""
    assert "cc: DW_CC_LLVM_DeviceKernel" in print_module(text)


def test_what_weft_does_not_read_of_c_is_shown_where_it_stands_in_the_source(tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    (tmp_path / "wide.h").write_text("\nstatic long double twice(long double x) {\n    return 2 * x;\n}\n")
    for name, text, place in (
        ("f.c", "void f(long double *a) {\n    a[0] = 1;\n}\n", "f.c:2:5: type x86_fp80"),
        ("g.c", '#include "wide.h"\ndouble f(double x) { return twice(x); }\n', "wide.h:2: type x86_fp80"),
    ):
        file = tmp_path / name
        file.write_text(text)
        with pytest.raises(IRSyntaxError) as refused:
            vectorize_ir(file, "f", loop="auto")
        assert place in str(refused.value)
