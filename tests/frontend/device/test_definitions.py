"""What one kernel of a program needs."""

from weft.frontend.device.definitions import alone, reached
from weft.ir.reader import read_module

PROGRAM = """
@table = internal constant [1 x ptr] [ptr @in_table]
@other = internal global i32 0

define void @first(ptr %x) !dbg !3 {
  call void @helper(), !dbg !4
  ret void
}

define void @second(ptr %x) !dbg !5 {
  call void @"only second"(), !dbg !6
  ret void
}

define internal void @helper() {
  call void @deeper()
  ret void
}

define internal void @deeper() {
  ret void
}

define internal void @"only second"() {
  ret void
}

define internal void @in_table() {
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.cl", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "first", scope: !1, file: !1, line: 1, unit: !0)
!4 = !DILocation(line: 2, scope: !3)
!5 = distinct !DISubprogram(name: "second", scope: !1, file: !1, line: 5, unit: !0)
!6 = !DILocation(line: 6, scope: !5)
"""
KERNELS = ("first", "second")


def test_functions_that_a_kernel_does_not_call_are_left_out() -> None:
    module = read_module(alone(PROGRAM, "first", KERNELS))
    assert [f.name for f in module.definitions()] == ["first", "helper", "deeper", "in_table"]
    assert set(module.globals) == {"table", "other"}


def test_functions_that_no_kernel_calls_are_left_out() -> None:
    text = PROGRAM.replace("define void @second", "define spir_kernel void @second")
    text += "\ndeclare void @unused()\ndeclare void @used()\n"
    text = text.replace(
        'define internal void @"only second"() {', 'define void @"only second"() {\n  call void @used()'
    )
    left = reached(text)
    module = read_module(left)
    assert [f.name for f in module.definitions()] == ["second", "only second", "in_table"]
    assert {f.name for f in module.functions.values() if f.is_declaration} == {"used"}
    assert '"second"' in left and '"first"' not in left


def test_names_in_quotes_are_followed() -> None:
    module = read_module(alone(PROGRAM, "second", KERNELS))
    assert [f.name for f in module.definitions()] == ["second", "only second", "in_table"]


def test_metadata_of_others_is_left_out() -> None:
    text = alone(PROGRAM, "first", KERNELS)
    assert '"first"' in text and '"second"' not in text
    assert "!2 = " in text and "!6 = " not in text


def test_lines_of_the_kernel_stay_known() -> None:
    kernel = read_module(alone(PROGRAM, "second", KERNELS)).functions["second"]
    call, _ = kernel.instructions()
    assert call.loc is not None and call.loc.line == 6
