"""What the reader does not know it refuses, with file, line, column and the offending token."""

from __future__ import annotations

import pytest

from weft.diag.errors import IRSyntaxError
from weft.ir.reader import read_module


def error_of(text: str) -> IRSyntaxError:
    with pytest.raises(IRSyntaxError) as caught:
        read_module(text, "k.ll")
    return caught.value


def in_body(line: str) -> str:
    return f"define void @f(i32 %a, ptr %p, <4 x i32> %v, float %x) {{\n  {line}\n  ret void\n}}\n"


BODY = [
    # (line, what the caret is under, part of the message)
    ("invoke void @f()", "invoke", "instruction invoke is not supported"),
    ("%l = landingpad { ptr, i32 } cleanup", "landingpad", "landingpad is not supported"),
    ("indirectbr ptr %p, []", "indirectbr", "indirectbr is not supported"),
    ("callbr void asm \"\", \"\"() to label %x []", "callbr", "callbr is not supported"),
    ("%y = va_arg ptr %p, i32", "va_arg", "va_arg is not supported"),
    ("%c = catchswitch within none [] unwind to caller", "catchswitch", "catchswitch is not supported"),
    ("%y = frobnicate i32 %a", "frobnicate", "no instruction that weft knows"),
    ("%y = fadd x86_fp80 %x, %x", "x86_fp80", "type x86_fp80 is not supported"),
    ("%y = load fp128, ptr %p", "fp128", "type fp128 is not supported"),
    ("%y = alloca ppc_fp128", "ppc_fp128", "type ppc_fp128 is not supported"),
    ("%y = load <vscale x 4 x i32>, ptr %p", "vscale", "scalable vectors are not supported"),
    ('%y = alloca target("spirv.Image")', "target", "type target is not supported"),
    ("%y = add i32 %a, %b", "%b", "%b is not defined in this function"),
    ("%y = add i32 %a, %x", "%x", "%x has type float, here it is used as i32"),
    ("%y = add i32 %a, 4294967296", "4294967296", "does not fit into i32"),
    ("%y = add i32 %a, 1.0", "1.0", "expected a value of type i32"),
    ("%y = fadd float %x, 0.1", "0.1", "0.1 is not exactly a float"),
    ("%y = fadd float %x, 0xH3C00", "0xH3C00", "no constant of type float"),
    ("%y = add foo i32 %a, %a", "foo", "expected a type"),
    ("%y = add i32 %a %a", "%a", "expected ','"),
    ("%y add i32 %a, %a", "add", "expected '='"),
    ("%y = icmp lt i32 %a, %a", "lt", "no predicate of icmp"),
    ("%y = extractvalue { i32 } undef, 1", ",", "has no such member"),
    ("%y = extractelement i32 %a, i32 0", "i32", "expected a vector"),
    ("%y = load i32, ptr %p, align 3", "3", "an alignment is a power of two"),
    ("%y = load atomic i32, ptr %p strong, align 4", "strong", "expected a memory ordering"),
    ("%y = atomicrmw swap ptr %p, i32 1 seq_cst", "swap", "no operation of atomicrmw"),
    ("%a = add i32 1, 2", "%a", "%a is the name of a value already"),
    ("%y = store i32 %a, ptr %p", "%y", "store has no result"),
    ("%7 = add i32 1, 2\n  %6 = add i32 1, 2", "%6", "expected number %8 or a higher one"),
    ("br label %nowhere", "%nowhere", "block %nowhere is not defined"),
    ("store i32 1, i32 %a", "i32", "expected a pointer"),
    ("call void @missing()", "@missing", "@missing is not defined in this module"),
    ("call void @f() unknownattr", "unknownattr", "no instruction that weft knows"),
    ("call void @f() #9", "#9", "attribute group #9 is not defined"),
    ("call addrspace(1) void @f()", "addrspace", "functions in other address spaces"),
    ("%y = load i32, ptr %p, !tbaa !99", "!99", "metadata !99 is not defined"),
    ("%y = add i32 %a, 1, !dbg !{}", "!", "expected a !DILocation"),
    ("#dbg_sparkle(i32 %a, !{}, !DIExpression(), !{})", "#dbg_sparkle", "no debug record that weft knows"),
    ("#dbg_value(i32 %a, !{}, !DIExpression(), !{})", "!{})", "ends with a !DILocation"),
    ("%y = shufflevector <4 x i32> %v, <4 x i32> %v, <4 x i32> %v", "<", "is a constant vector"),
    ("store ptr blockaddress(@f, %b), ptr %p", "blockaddress", "constant blockaddress is not supported"),
    ("store i64 mul (i64 1, i64 2), ptr %p", "mul", "no constant expression of LLVM 22"),
    ("store i32 zext (i1 true to i32), ptr %p", "zext", "no constant expression of LLVM 22"),
    ("store [2 x i8] c\"abc\", ptr %p", "c", "string of 3 bytes is no constant"),
    ("store <2 x i32> splat (i8 1), ptr %p", "splat", "no constant of type <2 x i32>"),
    ("store i32 null, ptr %p", "null", "null is no constant of type i32"),
    ("uselistorder i32 %a, { 1, 0 }", "uselistorder", "uselistorder is not supported"),
    ("$$$", "$$$", "no instruction that weft knows"),
    ("switch float %x, label %z [ ]", "float", "switch needs an integer"),
    ("switch i32 %a, label %z [ i8 1, label %z ]", "i8", "a case is an integer of type i32"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "token", "message"), BODY, ids=[b[0] for b in BODY])
def test_instruction_is_refused_where_it_goes_wrong(line: str, token: str, message: str) -> None:
    error = error_of(in_body(line))
    assert message in error.message
    span = error.span
    assert span is not None
    assert span.file == "k.ll"
    assert span.line == 2 + line.count("\n")
    last = "  " + line if "\n" not in line else line.split("\n")[1]
    assert last[span.column - 1 :].startswith(token)


MODULE = [
    ("define void @f() {\n", 1, 18, "this '{' is never closed"),
    ("define void @f() {\n}\n", 2, 1, "at least one block"),
    ("define void @f() {\nentry:\n  %x = add i32 1, 2\n}\n", 4, 1, "block %entry has no terminator"),
    ("define void @f() {\na:\n  ret void\na:\n  ret void\n}\n", 4, 1, "block %a is defined twice"),
    ("define void @f() {\n  ret void\n}\ndefine void @f() {\n  ret void\n}\n", 4, 8, "@f is defined twice"),
    ("@x = global i32 1\n@x = global i32 2\n", 2, 6, "@x is defined twice"),
    ("@x = ifunc i32 (), ptr @f\n", 1, 6, "ifuncs are not supported"),
    ('@x = global i32 1, partition "p"\n', 1, 20, "partition of a global variable is not supported"),
    ("@x = global i32 1 align 4\n", 1, 19, "expected the end of the definition of @x"),
    ("@x = global i32 @y\n", 1, 17, "@y is not defined"),
    ("%t = type { %t }\n", 1, 13, "type %t is not defined, or contains itself"),
    ("@x = global %t zeroinitializer\n", 1, 13, "type %t is not defined"),
    ("define void @f() prefix i32 1 {\n  ret void\n}\n", 1, 18, "prefix data of functions"),
    ("attributes #0 = { nounwind madeup }\n", 1, 28, "'madeup' is no function attribute"),
    ("!0 = !{!1}\n", 1, 8, "metadata !1 is not defined"),
    ("!0 = !{}\n!0 = !{}\n", 2, 1, "metadata !0 is defined twice"),
    ("!0 = !{i32 1\n", 1, 13, "expected ','"),
    ("!0 = !DIFile(filename: \"a\", filename: \"b\")\n", 1, 29, "field filename is given twice"),
    ("!0 = !DIFile(\"a\")\n", 1, 14, "expected a field of !DIFile"),
    ("uselistorder ptr @x, { 1, 0 }\n", 1, 1, "use-list orders are not supported"),
    ("^0 = module: (path: \"x\")\n", 1, 1, "nothing that weft knows"),
    ("target vendor = \"x\"\n", 1, 8, "expected 'triple' or 'datalayout'"),
    ("define void @f() {\n  ret void\n}\n}\n", 4, 1, "nothing that weft knows"),
    ("@x = global i8 \"unclosed\n", 1, 16, "expected a value of type i8"),
    ("declare x86_amx @f()\n", 1, 9, "type x86_amx is not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), MODULE, ids=[m[3] for m in MODULE])
def test_module_is_refused_where_it_goes_wrong(text: str, line: int, column: int, message: str) -> None:
    error = error_of(text)
    assert message in error.message
    assert error.span is not None
    assert (error.span.line, error.span.column) == (line, column)


def test_error_shows_line_caret_and_hint() -> None:
    shown = str(error_of(in_body("%y = va_arg ptr %p, i32")))
    assert shown.splitlines() == [
        "k.ll:2:8: instruction va_arg is not supported",
        "  2 |   %y = va_arg ptr %p, i32",
        "    |        ^~~~~~",
        "  hint: pass an array instead of variable arguments",
    ]


def test_error_in_metadata_points_into_the_module() -> None:
    error = error_of("!named = !{!1}\n!0 = !{}\n!1 = !{!0,\n  !7}\n")
    assert error.span is not None
    assert (error.span.line, error.span.column) == (4, 3)
    assert error.span.source_line() == "  !7}"


def test_unreferenced_metadata_is_read_all_the_same() -> None:
    assert "expected a field" in error_of("!0 = !{}\n!1 = !DIFile(3)\n").message
