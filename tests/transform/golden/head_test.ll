define void @f(i32 %n, ptr %p) {
entry:
  br label %enter

enter:
  br label %loop.head

loop.head:
  %i = phi i32 [ 0, %enter ], [ %next, %loop ]
  %0 = icmp slt i32 %i, %n
  br i1 %0, label %loop, label %exit

loop:
  store i32 %i, ptr %p
  %next = add i32 %i, 1
  br label %loop.head

exit:
  ret void
}
