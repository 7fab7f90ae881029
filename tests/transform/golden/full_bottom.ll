define i32 @walk(i32 %t, i32 %n, i32 %step) {
P:
  %0 = icmp sge i32 %n, -2147483641
  %1 = sub i32 %n, 7
  br label %H.full

H:
  %i = phi i32 [ %next, %H ], [ %i.2, %H.preheader ]
  %s = phi i32 [ %more, %H ], [ %s.2, %H.preheader ]
  %more = add i32 %s, %i
  %next = add i32 %i, %step
  %c = icmp sge i32 %next, %n
  br i1 %c, label %X.exit, label %H

X:
  %out = phi i32 [ %more.2, %H.part ], [ %out.1, %X.exit ]
  ret i32 %out

H.full:
  %i.1 = phi i32 [ %t, %P ], [ %next.1, %H.full ]
  %s.1 = phi i32 [ 0, %P ], [ %more.1, %H.full ]
  %more.1 = add i32 %s.1, %i.1
  %next.1 = add i32 %i.1, %step
  %c.1 = icmp sge i32 %next.1, %n
  %2 = call i32 @weft.lane.id()
  %3 = sub i32 %next.1, %2
  %4 = icmp slt i32 %3, %1
  %5 = and i1 %0, %4
  br i1 %5, label %H.full, label %H.part

H.part:
  %c.2 = phi i1 [ %c.1, %H.full ]
  %next.2 = phi i32 [ %next.1, %H.full ]
  %more.2 = phi i32 [ %more.1, %H.full ]
  br i1 %c.2, label %X, label %H.preheader

H.preheader:
  %i.2 = phi i32 [ %next.2, %H.part ]
  %s.2 = phi i32 [ %more.2, %H.part ]
  br label %H

X.exit:
  %out.1 = phi i32 [ %more, %H ]
  br label %X
}
