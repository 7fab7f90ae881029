define void @rows(ptr %a, i32 %n) {
entry:
  %0 = call i32 @llvm.smax.i32(i32 %n, i32 0)
  %1 = sub nsw i32 %0, 1
  br label %row.groups

row.groups:
  %i.group = phi i32 [ 0, %entry ], [ %3, %row.next ]
  %2 = icmp slt i32 %i.group, %1
  br i1 %2, label %body.ahead, label %row.left

row.enter:
  %3 = add nsw i32 %i.group, 2
  br label %row

row.handed:
  br label %row.enter

row:
  %i = phi i32 [ %i.group, %row.enter ], [ %i.next, %row.end ]
  %on = icmp slt i32 %i, %3
  br i1 %on, label %body, label %row.next

body:
  %begin = mul nsw i32 %i, 32
  br label %column

column:
  %j = phi i32 [ %i.group, %body ], [ %j.next, %column.end ]
  %below = icmp slt i32 %j, %i
  br i1 %below, label %element, label %row.end

element:
  %at = add nsw i32 %begin, %j
  %wide = sext i32 %at to i64
  %place = getelementptr double, ptr %a, i64 %wide
  %w = load double, ptr %place
  br label %sum

sum:
  %k = phi i32 [ 0, %element ], [ %k.next, %add ]
  %left = phi double [ %w, %element ], [ %less, %add ]
  %more = icmp slt i32 %k, %j
  br i1 %more, label %add, label %column.end

add:
  %across = add nsw i32 %begin, %k
  %across.wide = sext i32 %across to i64
  %x.place = getelementptr double, ptr %a, i64 %across.wide
  %x = load double, ptr %x.place
  %down = mul nsw i32 %k, 32
  %down.at = add nsw i32 %down, %j
  %down.wide = sext i32 %down.at to i64
  %y.place = getelementptr double, ptr %a, i64 %down.wide
  %y = load double, ptr %y.place
  %product = fmul double %x, %y
  %less = fsub double %left, %product
  %k.next = add nsw i32 %k, 1
  br label %sum

column.end:
  %left.1 = phi double [ %left, %sum ]
  %half = fmul double %left.1, 5.000000e-01
  store double %half, ptr %place
  %j.next = add nsw i32 %j, 1
  br label %column

row.end:
  %i.next = add nsw i32 %i, 1
  br label %row

row.next:
  br label %row.groups

exit:
  ret void

row.left:
  %i.1 = phi i32 [ %i.group, %row.groups ], [ %i.next.1, %row.end.left ]
  %on.1 = icmp slt i32 %i.1, %n
  br i1 %on.1, label %body.left, label %exit

body.left:
  %begin.1 = mul nsw i32 %i.1, 32
  br label %column.left

column.left:
  %j.1 = phi i32 [ 0, %body.left ], [ %j.next.1, %column.end.left ]
  %below.1 = icmp slt i32 %j.1, %i.1
  br i1 %below.1, label %element.left, label %row.end.left

element.left:
  %at.1 = add nsw i32 %begin.1, %j.1
  %wide.1 = sext i32 %at.1 to i64
  %place.1 = getelementptr double, ptr %a, i64 %wide.1
  %w.1 = load double, ptr %place.1
  br label %sum.left

sum.left:
  %k.1 = phi i32 [ 0, %element.left ], [ %k.next.1, %add.left ]
  %left.2 = phi double [ %w.1, %element.left ], [ %less.1, %add.left ]
  %more.1 = icmp slt i32 %k.1, %j.1
  br i1 %more.1, label %add.left, label %column.end.left

add.left:
  %across.1 = add nsw i32 %begin.1, %k.1
  %across.wide.1 = sext i32 %across.1 to i64
  %x.place.1 = getelementptr double, ptr %a, i64 %across.wide.1
  %x.1 = load double, ptr %x.place.1
  %down.1 = mul nsw i32 %k.1, 32
  %down.at.1 = add nsw i32 %down.1, %j.1
  %down.wide.1 = sext i32 %down.at.1 to i64
  %y.place.1 = getelementptr double, ptr %a, i64 %down.wide.1
  %y.1 = load double, ptr %y.place.1
  %product.1 = fmul double %x.1, %y.1
  %less.1 = fsub double %left.2, %product.1
  %k.next.1 = add nsw i32 %k.1, 1
  br label %sum.left

column.end.left:
  %left.3 = phi double [ %left.2, %sum.left ]
  %half.1 = fmul double %left.3, 5.000000e-01
  store double %half.1, ptr %place.1
  %j.next.1 = add nsw i32 %j.1, 1
  br label %column.left

row.end.left:
  %i.next.1 = add nsw i32 %i.1, 1
  br label %row.left

body.ahead:
  %begin.2 = mul nsw i32 %i.group, 32
  %4 = add nsw i32 %i.group, 1
  %begin.3 = mul nsw i32 %4, 32
  br label %column.ahead

column.ahead:
  %j.2 = phi i32 [ 0, %body.ahead ], [ %j.next.2, %column.end.ahead ]
  %below.2 = icmp slt i32 %j.2, %i.group
  br i1 %below.2, label %element.ahead, label %row.handed

element.ahead:
  %at.2 = add nsw i32 %begin.2, %j.2
  %wide.2 = sext i32 %at.2 to i64
  %place.2 = getelementptr double, ptr %a, i64 %wide.2
  %w.2 = load double, ptr %place.2
  %at.3 = add nsw i32 %begin.3, %j.2
  %wide.3 = sext i32 %at.3 to i64
  %place.3 = getelementptr double, ptr %a, i64 %wide.3
  %w.3 = load double, ptr %place.3
  br label %sum.ahead

sum.ahead:
  %left.4 = phi double [ %w.3, %element.ahead ], [ %less.3, %add.ahead ]
  %k.2 = phi i32 [ 0, %element.ahead ], [ %k.next.2, %add.ahead ]
  %left.5 = phi double [ %w.2, %element.ahead ], [ %less.2, %add.ahead ]
  %more.2 = icmp slt i32 %k.2, %j.2
  br i1 %more.2, label %add.ahead, label %column.end.ahead

add.ahead:
  %across.2 = add nsw i32 %begin.2, %k.2
  %across.wide.2 = sext i32 %across.2 to i64
  %x.place.2 = getelementptr double, ptr %a, i64 %across.wide.2
  %x.2 = load double, ptr %x.place.2
  %down.2 = mul nsw i32 %k.2, 32
  %down.at.2 = add nsw i32 %down.2, %j.2
  %down.wide.2 = sext i32 %down.at.2 to i64
  %y.place.2 = getelementptr double, ptr %a, i64 %down.wide.2
  %y.2 = load double, ptr %y.place.2
  %product.2 = fmul double %x.2, %y.2
  %less.2 = fsub double %left.5, %product.2
  %k.next.2 = add nsw i32 %k.2, 1
  %across.3 = add nsw i32 %begin.3, %k.2
  %across.wide.3 = sext i32 %across.3 to i64
  %x.place.3 = getelementptr double, ptr %a, i64 %across.wide.3
  %x.3 = load double, ptr %x.place.3
  %y.3 = load double, ptr %y.place.2
  %product.3 = fmul double %x.3, %y.3
  %less.3 = fsub double %left.4, %product.3
  br label %sum.ahead

column.end.ahead:
  %left.6 = phi double [ %left.4, %sum.ahead ]
  %left.7 = phi double [ %left.5, %sum.ahead ]
  %half.2 = fmul double %left.7, 5.000000e-01
  store double %half.2, ptr %place.2
  %j.next.2 = add nsw i32 %j.2, 1
  %half.3 = fmul double %left.6, 5.000000e-01
  store double %half.3, ptr %place.3
  br label %column.ahead
}
