"""Entry points of kernels, written by hand in LLVM IR: what the tests of the runtime launch."""

import ctypes
import functools

from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object

SAXPY = """
declare i64 @llvm.smin.i64(i64, i64)

; y[i] += a * x[i] for the threads of the groups; parameters a, x (pointer, extent), y (pointer, extent)
define i32 @saxpy.groups(ptr %record, i64 %begin, i64 %end, i32 %worker) {
entry:
  %block.at = getelementptr i64, ptr %record, i64 3
  %block = load i64, ptr %block.at
  %args.at = getelementptr i64, ptr %record, i64 6
  %args = load ptr, ptr %args.at
  %a = load float, ptr %args
  %x.at = getelementptr i64, ptr %args, i64 1
  %n.at = getelementptr i64, ptr %args, i64 2
  %y.at = getelementptr i64, ptr %args, i64 3
  %x = load ptr, ptr %x.at
  %n = load i64, ptr %n.at
  %y = load ptr, ptr %y.at
  %from = mul i64 %begin, %block
  %past = mul i64 %end, %block
  %to = call i64 @llvm.smin.i64(i64 %past, i64 %n)
  br label %head
head:
  %i = phi i64 [ %from, %entry ], [ %i.next, %body ]
  %more = icmp slt i64 %i, %to
  br i1 %more, label %body, label %exit
body:
  %xi.at = getelementptr float, ptr %x, i64 %i
  %yi.at = getelementptr float, ptr %y, i64 %i
  %xi = load float, ptr %xi.at
  %yi = load float, ptr %yi.at
  %product = fmul float %a, %xi
  %sum = fadd float %yi, %product
  store float %sum, ptr %yi.at
  %i.next = add i64 %i, 1
  br label %head
exit:
  ret i32 0
}
"""

# The context of @account is an `Account`. Counts each group; a run that is empty, does not begin at a
# multiple of the chunk, or has a worker index in use is a fault.
ACCOUNT = """
define i32 @account(ptr %context, i64 %begin, i64 %end, i32 %worker) {
entry:
  %counts = load ptr, ptr %context
  %busy.at = getelementptr i64, ptr %context, i64 1
  %busy.base = load ptr, ptr %busy.at
  %chunk.at = getelementptr i64, ptr %context, i64 2
  %chunk = load i64, ptr %chunk.at
  %delay.at = getelementptr i64, ptr %context, i64 3
  %delay = load i64, ptr %delay.at
  %fail.at = getelementptr i64, ptr %context, i64 4
  %fail = load i64, ptr %fail.at
  %faults = getelementptr i64, ptr %context, i64 5
  %seen = getelementptr i32, ptr %faults, i64 1
  %bit = shl i32 1, %worker
  %seen.before = atomicrmw or ptr %seen, i32 %bit monotonic
  %busy = getelementptr i32, ptr %busy.base, i32 %worker
  %was.busy = atomicrmw xchg ptr %busy, i32 1 acquire
  %offset = urem i64 %begin, %chunk
  %unaligned = icmp ne i64 %offset, 0
  %empty = icmp sge i64 %begin, %end
  %twice = icmp ne i32 %was.busy, 0
  %fault.1 = or i1 %unaligned, %empty
  %fault = or i1 %fault.1, %twice
  %fault.bit = zext i1 %fault to i32
  %faults.before = atomicrmw or ptr %faults, i32 %fault.bit monotonic
  br label %group
group:
  %g = phi i64 [ %begin, %entry ], [ %g.next, %counted ]
  %count = getelementptr i32, ptr %counts, i64 %g
  %count.before = atomicrmw add ptr %count, i32 1 monotonic
  br label %wait
wait:
  %k = phi i64 [ 0, %group ], [ %k.next, %wait ]
  store volatile i64 %k, ptr %delay.at
  %k.next = add i64 %k, 1
  store volatile i64 %delay, ptr %delay.at
  %waited = icmp sge i64 %k.next, %delay
  br i1 %waited, label %counted, label %wait
counted:
  %g.next = add i64 %g, 1
  %more = icmp slt i64 %g.next, %end
  br i1 %more, label %group, label %exit
exit:
  store atomic i32 0, ptr %busy release, align 4
  %after = icmp sge i64 %fail, %begin
  %before = icmp slt i64 %fail, %end
  %inside = and i1 %after, %before
  %status = select i1 %inside, i32 7, i32 0
  ret i32 %status
}
"""

# Fills the worker's arena, waits a little, and returns 5 if another worker has written into it.
SCRATCH = """
define i32 @scratch.groups(ptr %record, i64 %begin, i64 %end, i32 %worker) {
entry:
  %arenas.at = getelementptr i64, ptr %record, i64 7
  %arenas = load ptr, ptr %arenas.at
  %arena.at = getelementptr ptr, ptr %arenas, i32 %worker
  %arena = load ptr, ptr %arena.at
  %bytes.at = getelementptr i64, ptr %record, i64 8
  %bytes = load i64, ptr %bytes.at
  %address = ptrtoint ptr %arena to i64
  %low = and i64 %address, 63
  %unaligned = icmp ne i64 %low, 0
  %tag = trunc i32 %worker to i8
  br i1 %unaligned, label %bad, label %fill
fill:
  call void @llvm.memset.p0.i64(ptr %arena, i8 %tag, i64 %bytes, i1 true)
  br label %check
check:
  %i = phi i64 [ 0, %fill ], [ %i.next, %next ]
  %byte.at = getelementptr i8, ptr %arena, i64 %i
  %byte = load volatile i8, ptr %byte.at
  %mine = icmp eq i8 %byte, %tag
  br i1 %mine, label %next, label %bad
next:
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %bytes
  br i1 %more, label %check, label %good
good:
  ret i32 0
bad:
  ret i32 5
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

# Copies its launch record's extents into the array parameter, then fails in group 5: threads wait at barriers 3 and 1.
REPORT = """
define i32 @report.groups(ptr %record, i64 %begin, i64 %end, i32 %worker) {
entry:
  %args.at = getelementptr i64, ptr %record, i64 6
  %args = load ptr, ptr %args.at
  %out = load ptr, ptr %args
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %record, i64 48, i1 false)
  %after = icmp sle i64 %begin, 5
  %before = icmp sgt i64 %end, 5
  %mine = and i1 %after, %before
  br i1 %mine, label %fail, label %exit
fail:
  %error.at = getelementptr i64, ptr %record, i64 9
  %error = load ptr, ptr %error.at
  store i64 5, ptr %error
  %first.at = getelementptr i64, ptr %error, i64 1
  store i64 3, ptr %first.at
  %second.at = getelementptr i64, ptr %error, i64 2
  store i64 1, ptr %second.at
  ret i32 1
exit:
  ret i32 0
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


@functools.cache
def loaded(text: str, *symbols: str) -> LoadedCode:
    code = load_object(emit_object(text, TargetSpec.chosen()), symbols)
    # Threads that ask at the same time get one each, and the cache keeps the last.
    code.keep_forever()
    return code


class Account(ctypes.Structure):
    """The context of ``@account``, and what it found."""

    _fields_ = (
        ("counts", ctypes.c_void_p),
        ("busy", ctypes.c_void_p),
        ("chunk", ctypes.c_int64),
        ("delay", ctypes.c_int64),
        ("fail_at", ctypes.c_int64),
        ("faults", ctypes.c_int32),
        ("workers_seen", ctypes.c_int32),
    )

    def __init__(self, groups: int, chunk: int, delay: int = 0, fail_at: int = -1) -> None:
        self.group_counts = (ctypes.c_int32 * groups)()
        self.busy_flags = (ctypes.c_int32 * 64)()
        super().__init__(
            ctypes.addressof(self.group_counts), ctypes.addressof(self.busy_flags), chunk, delay, fail_at
        )
