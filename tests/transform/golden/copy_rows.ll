define void @k(ptr %rows, ptr %out, i64 %t, i64 %m, i64 %n) "weft.kernel" {
entry:
  %row = alloca [10 x i8]
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
  br i1 %copied, label %inner.copied, label %inner.copy

inner.copy:
  br label %inner.cells

inner:
  %j = phi i64 [ 0, %inner.copied ], [ %j.next, %inner.latch ]
  %r = phi i32 [ %s, %inner.copied ], [ %r.next, %inner.latch ]
  %again = icmp slt i64 %j, 10
  br i1 %again, label %body, label %left

body:
  %0 = getelementptr inbounds [10 x i8], ptr %row, i64 0, i64 %j
  %e = load i8, ptr %0
  br label %inner.latch

inner.latch:
  %odd = mul i32 %r, 31
  %v = zext i8 %e to i32
  %r.next = add i32 %odd, %v
  %j.next = add nsw i64 %j, 1
  br label %inner

left:
  %r.out = phi i32 [ %r, %inner ]
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

inner.cells:
  %cell = phi i64 [ 0, %inner.copy ], [ %3, %inner.cell ]
  %1 = icmp ult i64 %cell, 10
  br i1 %1, label %inner.cell, label %inner.copied.exit

inner.cell:
  %row.1 = mul nsw i64 %t, 12
  %first = getelementptr i8, ptr %rows, i64 %row.1
  %at = getelementptr i8, ptr %first, i64 %cell
  %e.1 = load i8, ptr %at
  %2 = getelementptr inbounds [10 x i8], ptr %row, i64 0, i64 %cell
  store i8 %e.1, ptr %2
  %3 = add nuw nsw i64 %cell, 1
  br label %inner.cells

inner.copied:
  br label %inner

inner.copied.exit:
  br label %inner.copied
}
