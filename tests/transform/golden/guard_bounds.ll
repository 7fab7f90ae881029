define void @f(ptr noalias noundef %x, ptr noalias noundef %y, i64 noundef %n) {
entry:
  %last = add nsw i64 %n, -1
  %0 = icmp slt i64 0, %n
  br i1 %0, label %rows.within, label %exit

rows.within:
  br label %rows

rows:
  %i = phi i64 [ 1, %rows.within ], [ %i.next, %rows.latch ]
  %1 = icmp slt i64 %i, %last
  br i1 %1, label %row, label %rows.left

rows.left:
  br label %exit

row:
  %place = mul nsw i64 %i, %n
  br label %columns.within

columns.within:
  br label %columns

columns:
  %j = phi i64 [ 1, %columns.within ], [ %j.next, %columns.latch ]
  %2 = icmp slt i64 %j, %last
  br i1 %2, label %guard, label %columns.left

columns.left:
  br label %rows.latch

guard:
  br label %work

work:
  %at = add nsw i64 %place, %j
  %p = getelementptr i64, ptr %x, i64 %at
  %q = getelementptr i8, ptr %p, i64 8
  %v = load i64, ptr %q
  %r = getelementptr i64, ptr %y, i64 %at
  store i64 %v, ptr %r
  br label %columns.latch

columns.latch:
  %j.next = add nuw nsw i64 %j, 1
  br label %columns

rows.latch:
  %i.next = add nuw nsw i64 %i, 1
  br label %rows

exit:
  ret void
}
