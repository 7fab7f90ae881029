"""Each finding has a kernel that triggers it, and one close by that must not."""

import numpy as np
import pytest

from weft import interp
from weft.errors import InterpError, SanitizerError
from weft.interp.faults import FaultKind
from weft.interp.sanitizer import sanitizer
from weft.interp.sanitizer.findings import Finding
from weft.ir.reader import read_module

HEADER = """
declare i64 @weft.local.id(i32)
declare i64 @weft.group.id(i32)
declare i64 @weft.local.size(i32)
declare void @weft.barrier()
declare void @weft.warp.sync()
declare ptr addrspace(3) @weft.shared(i32)
declare void @weft.check(i32, i1)
"""

DEBUG = """
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!4}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1)
!1 = !DIFile(filename: "kernel.py", directory: "/src")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 1, unit: !0, type: !3)
!3 = !DISubroutineType(types: !5)
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !{}
!7 = !DILocation(line: 7, column: 5, scope: !2)
!9 = !DILocation(line: 9, column: 3, scope: !2)
"""

LANE = "  %t = call i64 @weft.local.id(i32 0)\n"


def find(
    body: str, arguments: list, grid: int = 1, block: int = 8, width: int | None = None
) -> list[Finding]:
    """The findings of a kernel over ``ptr %x, i64 %n`` whose body starts with the thread's id %t."""
    text = f'{HEADER}define void @k(ptr %x, i64 %n) "weft.shared"="64:8" !dbg !2 {{\nentry:\n{LANE}{body}\n}}\n{DEBUG}'
    return sanitizer.find(read_module(text), "k", arguments, grid, block, width=width, step_limit=100_000)


def kinds(findings: list[Finding]) -> list[FaultKind]:
    return [f.kind for f in findings]


STORE_AT = """
  %p = getelementptr i32, ptr %x, i64 {index}
  store i32 1, ptr %p, align 4, !dbg !7
  ret void"""


def test_a_store_behind_the_array_is_out_of_bounds() -> None:
    x = np.zeros(6, np.int32)
    (finding,) = find(STORE_AT.format(index="%t"), [x, 6])
    assert finding.kind is FaultKind.OUT_OF_BOUNDS
    assert finding.count == 2 and [t.thread for t in finding.threads] == [(6, 0, 0), (7, 0, 0)]
    assert finding.span is not None and (finding.span.file, finding.span.line) == ("/src/kernel.py", 7)
    assert "offset 24 of argument 0, which has 24" in finding.message
    assert x.tolist() == [1] * 6


def test_a_store_inside_the_array_is_no_finding() -> None:
    assert find(STORE_AT.format(index="%t"), [np.zeros(8, np.int32), 8]) == []


def test_an_access_before_the_array_is_out_of_bounds() -> None:
    body = "  %m = sub i64 %t, 1\n" + STORE_AT.format(index="%m")
    (finding,) = find(body, [np.zeros(8, np.int32), 8])
    assert finding.kind is FaultKind.OUT_OF_BOUNDS and finding.count == 1


def test_a_store_to_a_read_only_array_is_found() -> None:
    x = np.zeros(8, np.int32)
    x.flags.writeable = False
    assert kinds(find(STORE_AT.format(index="%t"), [x, 8])) == [FaultKind.READ_ONLY]
    assert not x.any()


@pytest.mark.parametrize(("scale", "found"), [("%t", [FaultKind.MISALIGNED]), ("%t4", [])])
def test_a_store_at_an_odd_address_is_misaligned(scale: str, found: list[FaultKind]) -> None:
    body = f"""  %t4 = mul i64 %t, 4
  %p = getelementptr i8, ptr %x, i64 {scale}
  %v = load i32, ptr %p, align 4
  ret void"""
    assert kinds(find(body, [np.zeros(64, np.int32), 8])) == found


SHARED_EXCHANGE = """
  %s = call ptr addrspace(3) @weft.shared(i32 0)
  %p = getelementptr i64, ptr addrspace(3) %s, i64 %t
  store i64 %t, ptr addrspace(3) %p, align 8, !dbg !9
  {between}
  %next = add i64 %t, 1
  %wrapped = urem i64 %next, 8
  %q = getelementptr i64, ptr addrspace(3) %s, i64 %wrapped
  %v = load i64, ptr addrspace(3) %q, align 8, !dbg !7
  %o = getelementptr i64, ptr %x, i64 %t
  store i64 %v, ptr %o
  ret void"""


def test_reading_what_another_thread_wrote_without_a_barrier_is_a_race() -> None:
    (finding,) = find(SHARED_EXCHANGE.format(between=""), [np.zeros(8, np.int64), 8])
    assert finding.kind is FaultKind.RACE and "line 9" in finding.message
    assert finding.span is not None and finding.span.line == 7


def test_a_barrier_between_write_and_read_is_no_race() -> None:
    x = np.zeros(8, np.int64)
    assert find(SHARED_EXCHANGE.format(between="call void @weft.barrier()"), [x, 8]) == []
    assert x.tolist() == [1, 2, 3, 4, 5, 6, 7, 0]


@pytest.mark.parametrize(("width", "found"), [(8, []), (4, [FaultKind.RACE])])
def test_synchronizing_the_lane_group_orders_that_lane_group_only(width: int, found: list[FaultKind]) -> None:
    text = SHARED_EXCHANGE.format(between="call void @weft.warp.sync()")
    assert kinds(find(text, [np.zeros(8, np.int64), 8], width=width)) == found


def test_two_threads_that_store_to_one_element_race() -> None:
    body = "  %h = lshr i64 %t, 1\n" + STORE_AT.format(index="%h")
    (finding,) = find(body, [np.zeros(8, np.int32), 8])
    assert finding.kind is FaultKind.RACE


def test_two_groups_that_store_to_one_element_race_even_across_barriers() -> None:
    body = "  call void @weft.barrier()" + STORE_AT.format(index="%t")
    assert kinds(find(body, [np.zeros(8, np.int32), 8], grid=2)) == [FaultKind.RACE]


def test_threads_that_only_read_one_element_do_not_race() -> None:
    body = "  %v = load i32, ptr %x, align 4\n  ret void"
    assert find(body, [np.zeros(8, np.int32), 8], grid=3) == []


def test_a_write_after_many_reads_races_with_one_of_them() -> None:
    body = """  %v = load i32, ptr %x, align 4
  %first = icmp eq i64 %t, 0
  br i1 %first, label %one, label %end
one:
  store i32 1, ptr %x, align 4
  br label %end
end:
  ret void"""
    assert kinds(find(body, [np.zeros(8, np.int32), 8])) == [FaultKind.RACE]


def test_atomic_operations_on_one_element_do_not_race_but_a_plain_read_does() -> None:
    atomic = "  %o = atomicrmw add ptr %x, i32 1 monotonic, align 4\n"
    x = np.zeros(8, np.int32)
    assert find(atomic + "  ret void", [x, 8], grid=2) == []
    assert x[0] == 16
    plain = "  %v = load i32, ptr %x, align 4\n" + atomic + "  ret void"
    assert kinds(find(plain, [x, 8])) == [FaultKind.RACE]


def test_data_handed_on_by_an_atomic_counter_do_not_race() -> None:
    """The last thread to arrive reads what the others wrote before they counted."""
    body = """  %p = getelementptr i32, ptr %x, i64 %t
  store i32 5, ptr %p, align 4
  fence seq_cst
  %counter = getelementptr i32, ptr %x, i64 8
  %old = atomicrmw add ptr %counter, i32 1 seq_cst, align 4
  %last = icmp eq i32 %old, 7
  br i1 %last, label %sum, label %end
sum:
  %v = load i32, ptr %x, align 4
  br label %end
end:
  ret void"""
    assert find(body, [np.zeros(9, np.int32), 8]) == []


BARRIER_UNDER = """
  %c = icmp {condition}
  br i1 %c, label %then, label %end
then:
  call void @weft.barrier(), !dbg !7
  br label %end
end:
  call void @weft.barrier()
  ret void"""


def test_a_barrier_reached_by_part_of_a_group_is_found() -> None:
    (finding,) = find(BARRIER_UNDER.format(condition="ult i64 %t, 5"), [np.zeros(1, np.int32), 8])
    assert finding.kind is FaultKind.BARRIER
    assert finding.count == 3 and [t.thread[0] for t in finding.threads] == [5, 6, 7]


def test_a_barrier_under_a_condition_that_all_threads_share_is_no_finding() -> None:
    assert find(BARRIER_UNDER.format(condition="ult i64 %n, 50"), [np.zeros(1, np.int32), 8]) == []


def test_threads_that_have_returned_do_not_count_at_a_barrier() -> None:
    body = """  %c = icmp ult i64 %t, 5
  br i1 %c, label %stay, label %leave
leave:
  ret void
stay:
  call void @weft.barrier()
  ret void"""
    assert find(body, [np.zeros(1, np.int32), 8]) == []


def test_reading_shared_memory_before_it_is_written_is_found() -> None:
    body = """
  %s = call ptr addrspace(3) @weft.shared(i32 0)
  %p = getelementptr i64, ptr addrspace(3) %s, i64 %t
  %v = load i64, ptr addrspace(3) %p, align 8
  ret void"""
    assert kinds(find(body, [np.zeros(1, np.int32), 8])) == [FaultKind.UNINITIALIZED]


@pytest.mark.parametrize(("read", "found"), [(1, [FaultKind.UNINITIALIZED]), (0, [])])
def test_reading_a_local_array_where_nothing_was_written_is_found(read: int, found: list[FaultKind]) -> None:
    body = f"""
  %a = alloca [2 x i32], align 4
  store i32 1, ptr %a, align 4
  %p = getelementptr [2 x i32], ptr %a, i64 0, i64 {read}
  %v = load i32, ptr %p, align 4
  ret void"""
    assert kinds(find(body, [np.zeros(1, np.int32), 8])) == found


@pytest.mark.parametrize(("amount", "found"), [("40", [FaultKind.POISON]), ("4", [])])
def test_a_branch_on_poison_is_found(amount: str, found: list[FaultKind]) -> None:
    body = f"""  %s = shl i32 1, {amount}
  %c = icmp eq i32 %s, 0
  br i1 %c, label %a, label %b
a:
  ret void
b:
  ret void"""
    assert kinds(find(body, [np.zeros(1, np.int32), 8])) == found


@pytest.mark.parametrize(("divisor", "found"), [("%t", [FaultKind.DIVISION]), ("%more", [])])
def test_integer_division_by_zero_is_found(divisor: str, found: list[FaultKind]) -> None:
    body = f"  %more = add i64 %t, 1\n  %q = sdiv i64 %n, {divisor}\n  ret void"
    findings = find(body, [np.zeros(1, np.int32), 8])
    assert kinds(findings) == found
    assert all(f.count == 1 for f in findings)


@pytest.mark.parametrize(
    ("kind", "found"), [(1, FaultKind.DIVISION), (2, FaultKind.ASSERTION), (3, FaultKind.OUT_OF_BOUNDS)]
)
def test_what_the_front_end_checks_is_reported(kind: int, found: FaultKind) -> None:
    body = f"  %bad = icmp eq i64 %t, 3\n  call void @weft.check(i32 {kind}, i1 %bad), !dbg !7\n  ret void"
    (finding,) = find(body, [np.zeros(1, np.int32), 8])
    assert finding.kind is found and finding.count == 1
    assert find(body, [np.zeros(1, np.int32), 8], block=3) == []


SPIN = """
  br label %wait
wait:
  %v = load volatile i32, ptr %x, align 4, !dbg !7
  %c = icmp eq i32 %v, 0
  br i1 %c, label %wait, label %end, !dbg !7
end:
  ret void"""


def test_a_loop_that_waits_for_what_nobody_will_write_is_found() -> None:
    (finding,) = find(SPIN, [np.zeros(1, np.int32), 8])
    assert finding.kind is FaultKind.SPINNING and finding.span is not None and finding.span.line == 7


def test_a_loop_whose_condition_holds_is_no_finding() -> None:
    assert find(SPIN, [np.ones(1, np.int32), 8]) == []


def test_a_lock_taken_by_a_thread_of_the_same_lane_group_is_found() -> None:
    body = """
  br label %take
take:
  %pair = cmpxchg ptr %x, i32 0, i32 1 seq_cst seq_cst, align 4
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %inside, label %take
inside:
  store atomic i32 0, ptr %x seq_cst, align 4
  ret void"""
    assert kinds(find(body, [np.zeros(1, np.int32), 8])) == [FaultKind.SPINNING]
    assert find(body, [np.zeros(1, np.int32), 8], block=1) == []


def test_a_long_loop_without_memory_is_not_called_spinning() -> None:
    body = """
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %done ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner ]
  %j1 = add i64 %j, 1
  %more = icmp ult i64 %j1, 2
  br i1 %more, label %inner, label %done
done:
  %i1 = add i64 %i, 1
  %again = icmp ult i64 %i1, 5000
  br i1 %again, label %outer, label %end
end:
  ret void"""
    assert find(body, [np.zeros(1, np.int32), 8]) == []


def test_findings_become_an_error_with_all_of_them() -> None:
    x = np.zeros(6, np.int32)
    text = (
        f"{HEADER}define void @k(ptr %x, i64 %n) !dbg !2 {{\n{LANE}{STORE_AT.format(index='%t')}\n}}\n{DEBUG}"
    )
    with pytest.raises(SanitizerError, match="out-of-bounds") as caught:
        sanitizer.check_launch(read_module(text), "k", [x, 6], 1, 8)
    assert len(caught.value.findings) == 1
    assert caught.value.span is not None and caught.value.span.line == 7


def test_without_the_sanitizer_the_first_fault_is_raised_with_its_thread() -> None:
    text = (
        f"{HEADER}define void @k(ptr %x, i64 %n) !dbg !2 {{\n{LANE}{STORE_AT.format(index='%t')}\n}}\n{DEBUG}"
    )
    with pytest.raises(InterpError, match=r"kernel.py:7:5: store of 4 bytes at offset 24 .*thread 6"):
        interp.launch(read_module(text), "k", [np.zeros(6, np.int32), 6], 1, 8)
