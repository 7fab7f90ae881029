define void @f(i32 %n, ptr %x, ptr %y) "weft.small.arrays" "weft.kernel" {
entry:
  br label %before

before:
  br label %before.rounds

before.rounds:
  %0 = sext i32 %n to i64
  br label %before.head

before.head:
  %count = phi i64 [ 0, %before.rounds ], [ %3, %before.round ]
  %s.middle = phi i32 [ 0, %before.rounds ], [ %c.sum, %before.round ]
  %1 = icmp slt i64 %count, %0
  br i1 %1, label %before.round, label %after

before.round:
  %2 = trunc nsw i64 %count to i32
  %l.wide = sext i32 %2 to i64
  %l.bytes = shl i64 %l.wide, 2
  %l.at = getelementptr i8, ptr %x, i64 %l.bytes
  %c = load i32, ptr %l.at, align 4
  %c.times = mul i32 %s.middle, 3
  %c.sum = add i32 %c.times, %c
  %3 = add nsw i64 %count, 1
  br label %before.head

after:
  %r = phi i32 [ %s.middle, %before.head ]
  store i32 %r, ptr %y
  ret void
}
