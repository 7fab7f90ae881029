define void @k(ptr %rows, ptr %out, i64 %t, i64 %m, i64 %n) "weft.kernel" {
entry:
  %row = alloca [4096 x i8]
  br label %outer

outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.latch ]
  %s = phi i32 [ 0, %entry ], [ %s.row, %outer.latch ]
  %copied = phi i1 [ false, %entry ], [ true, %outer.latch ]
  %more = icmp slt i64 %i, %m
  br i1 %more, label %before, label %done

before:
  br label %enter

enter:
  %0 = sub i64 %n, 0
  %1 = icmp sge i64 0, %n
  %2 = sub i64 %0, 1
  %3 = add i64 %2, 1
  %4 = select i1 %1, i64 0, i64 %3
  %5 = icmp ule i64 %4, 4096
  br i1 %5, label %inner.chosen, label %inner.other

inner.chosen:
  br i1 %copied, label %inner.copied, label %inner.copy

inner.copy:
  %6 = sub i64 %n, 0
  %7 = icmp sge i64 0, %n
  %8 = sub i64 %6, 1
  %9 = add i64 %8, 1
  %10 = select i1 %7, i64 0, i64 %9
  br label %inner.cells

inner.other:
  br label %inner.kept

inner:
  %j = phi i64 [ 0, %inner.copied ], [ %j.next, %inner.latch ]
  %r = phi i32 [ %s, %inner.copied ], [ %r.next, %inner.latch ]
  %again = icmp slt i64 %j, %n
  br i1 %again, label %body, label %left.left

body:
  %11 = getelementptr inbounds [4096 x i8], ptr %row, i64 0, i64 %j
  %e = load i8, ptr %11
  br label %inner.latch

inner.latch:
  %odd = mul i32 %r, 31
  %v = zext i8 %e to i32
  %r.next = add i32 %odd, %v
  %j.next = add nsw i64 %j, 1
  br label %inner

left:
  %r.out = phi i32 [ %r.out.1, %left.left ], [ %r.out.2, %left.left.other ]
  br label %outer.latch

outer.latch:
  %s.row = phi i32 [ %r.out, %left ]
  %i.next = add nsw i64 %i, 1
  br label %outer

done:
  %all = phi i32 [ %s, %outer ]
  %own = getelementptr i32, ptr %out, i64 %t
  store i32 %all, ptr %own
  ret void

inner.kept:
  %j.1 = phi i64 [ 0, %inner.other ], [ %j.next.1, %inner.latch.1 ]
  %r.1 = phi i32 [ %s, %inner.other ], [ %r.next.1, %inner.latch.1 ]
  %again.1 = icmp slt i64 %j.1, %n
  br i1 %again.1, label %body.1, label %left.left.other

body.1:
  %row.1 = mul nsw i64 %t, 12
  %first = getelementptr i8, ptr %rows, i64 %row.1
  %at = getelementptr i8, ptr %first, i64 %j.1
  %e.1 = load i8, ptr %at
  br label %inner.latch.1

inner.latch.1:
  %odd.1 = mul i32 %r.1, 31
  %v.1 = zext i8 %e.1 to i32
  %r.next.1 = add i32 %odd.1, %v.1
  %j.next.1 = add nsw i64 %j.1, 1
  br label %inner.kept

left.left:
  %r.out.1 = phi i32 [ %r, %inner ]
  br label %left

left.left.other:
  %r.out.2 = phi i32 [ %r.1, %inner.kept ]
  br label %left

inner.cells:
  %cell = phi i64 [ 0, %inner.copy ], [ %14, %inner.cell ]
  %12 = icmp ult i64 %cell, %10
  br i1 %12, label %inner.cell, label %inner.copied.exit

inner.cell:
  %row.2 = mul nsw i64 %t, 12
  %first.1 = getelementptr i8, ptr %rows, i64 %row.2
  %at.1 = getelementptr i8, ptr %first.1, i64 %cell
  %e.2 = load i8, ptr %at.1
  %13 = getelementptr inbounds [4096 x i8], ptr %row, i64 0, i64 %cell
  store i8 %e.2, ptr %13
  %14 = add nuw nsw i64 %cell, 1
  br label %inner.cells

inner.copied:
  br label %inner

inner.copied.exit:
  br label %inner.copied
}
