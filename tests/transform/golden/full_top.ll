define i32 @walk(i32 %t, i32 %n, i32 %step) {
P:
  %0 = icmp sge i32 %n, -2147483641
  %1 = sub i32 %n, 7
  br label %H.full

H:
  %i = phi i32 [ %next, %B ], [ %i.2, %H.exit ]
  %s = phi i32 [ %more, %B ], [ %s.2, %H.exit ]
  %c = icmp slt i32 %i, %n
  br i1 %c, label %B, label %X

B:
  %more = add i32 %s, %i
  %next = add i32 %i, %step
  br label %H

X:
  %out = phi i32 [ %s, %H ]
  ret i32 %out

H.full:
  %i.1 = phi i32 [ %t, %P ], [ %next.1, %B.1 ]
  %s.1 = phi i32 [ 0, %P ], [ %more.1, %B.1 ]
  %2 = call i32 @weft.lane.id()
  %3 = sub i32 %i.1, %2
  %4 = icmp slt i32 %3, %1
  %5 = and i1 %0, %4
  br i1 %5, label %B.1, label %H.exit

B.1:
  %more.1 = add i32 %s.1, %i.1
  %next.1 = add i32 %i.1, %step
  br label %H.full

H.exit:
  %i.2 = phi i32 [ %i.1, %H.full ]
  %s.2 = phi i32 [ %s.1, %H.full ]
  br label %H
}
