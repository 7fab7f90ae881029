define void @f(i32 %n, ptr %p) {
entry:
  br label %enter

enter:
  br label %loop

loop:
  %i = phi i32 [ 0, %enter ], [ %next, %loop.body ]
  %0 = icmp slt i32 %i, %n
  br i1 %0, label %loop.body, label %exit

loop.body:
  store i32 %i, ptr %p
  %next = add i32 %i, 1
  br label %loop

exit:
  ret void
}
