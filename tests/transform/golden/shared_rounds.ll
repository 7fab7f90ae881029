define i32 @f(i32 %n, i32 %s) {
entry:
  br label %enter

enter:
  %half = shl i32 %s, 2
  %step = mul i32 %half, 3
  %0 = sext i32 %n to i64
  br label %loop

loop:
  %round = phi i64 [ 0, %enter ], [ %5, %loop.body ]
  %sum = phi i32 [ 0, %enter ], [ %sum.next, %loop.body ]
  %1 = trunc i64 %round to i32
  %2 = mul i32 %1, %step
  %3 = add i32 5, %2
  %4 = icmp slt i64 %round, %0
  br i1 %4, label %loop.body, label %exit

loop.body:
  %sum.next = xor i32 %sum, %3
  %5 = add nsw i64 %round, 1
  br label %loop

exit:
  %r = phi i32 [ %sum, %loop ]
  ret i32 %r
}
