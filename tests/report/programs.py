"""LLVM programs for tests of reports."""

TRAVERSAL = """\
declare i64 @weft.local.id(i32)

define void @traverse(ptr align 4 %keys, ptr align 4 %out, i32 %root) "weft.kernel" {
entry:
  %stack = alloca [16 x i32], align 4
  %seen = alloca i32, align 4
  %tid = call i64 @weft.local.id(i32 0)
  %key = getelementptr inbounds i32, ptr %keys, i64 %tid
  %k = load i32, ptr %key, align 4
  store i32 %root, ptr %stack, align 4
  store i32 %k, ptr %seen, align 4
  br label %loop
loop:                                             ; preds = %more, %entry
  %top = phi i64 [ 0, %entry ], [ %next, %more ]
  %slot = getelementptr inbounds [16 x i32], ptr %stack, i64 0, i64 %top
  %node = load i32, ptr %slot, align 4
  %place = sext i32 %node to i64
  %there = getelementptr inbounds i32, ptr %out, i64 %place
  %found = load i32, ptr %there, align 4
  %done = icmp eq i32 %found, 0
  br i1 %done, label %after, label %more
more:                                             ; preds = %loop
  %next = add nuw nsw i64 %top, 1
  %hit = icmp slt i32 %found, %k
  br i1 %hit, label %after, label %loop
after:                                            ; preds = %more, %loop
  %s = load i32, ptr %seen, align 4
  %index = sext i32 %s to i64
  %cell = getelementptr inbounds i32, ptr %out, i64 %index
  %old = atomicrmw add ptr %cell, i32 1 monotonic, align 4
  switch i32 %root, label %end [
    i32 1, label %one
    i32 2, label %end
  ]
one:                                              ; preds = %after
  br label %end
end:                                              ; preds = %one, %after, %after
  ret void
}
"""

FOREIGN = """\
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()

define ptx_kernel void @"odd <name>"(ptr addrspace(1) %x, i32 %n) {
  %1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %2 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %3 = mul i32 %1, %2
  %4 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = add i32 %3, %4
  %6 = icmp ult i32 %5, %n
  br i1 %6, label %7, label %10
7:                                                ; preds = %0
  %8 = zext i32 %5 to i64
  %9 = getelementptr inbounds i32, ptr addrspace(1) %x, i64 %8
  store i32 %5, ptr addrspace(1) %9, align 4
  br label %10
10:                                               ; preds = %7, %0
  ret void
}

define i32 @helper(i32 %a, i32 inreg %b) {
entry:
  %sum = add i32 %a, %b
  ret i32 %sum
}
"""
