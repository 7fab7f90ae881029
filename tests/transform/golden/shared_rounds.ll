define i32 @f(i32 %n, i32 %s) {
entry:
  br label %enter

enter:
  %half = shl i32 %s, 2
  %step = mul i32 %half, 3
  br label %loop

loop:
  %round = phi i64 [ 0, %enter ], [ %4, %loop.body ]
  %i = phi i32 [ 0, %enter ], [ %next, %loop.body ]
  %sum = phi i32 [ 0, %enter ], [ %sum.next, %loop.body ]
  %0 = trunc i64 %round to i32
  %1 = mul i32 %0, %step
  %2 = add i32 5, %1
  %3 = icmp slt i32 %i, %n
  br i1 %3, label %loop.body, label %exit

loop.body:
  %sum.next = xor i32 %sum, %2
  %next = add i32 %i, 1
  %4 = add nuw nsw i64 %round, 1
  br label %loop

exit:
  %r = phi i32 [ %sum, %loop ]
  ret i32 %r
}
