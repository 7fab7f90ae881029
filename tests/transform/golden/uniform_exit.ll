define i32 @counted(i32 %t, i32 %n) {
P:
  %entering = call i1 @weft.mask()
  br label %H.live

H.live:
  %live = phi i1 [ %entering, %P ], [ %live.next, %H.latch ] shadow(false)
  %i = phi i32 [ 0, %P ], [ %i.next.1, %H.latch ]
  %X1.mask = phi i1 [ false, %P ], [ %X1.mask, %H.latch ]
  %where.track = phi i32 [ poison, %P ], [ %where.track.next, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %at.end = icmp sge i32 %i, %n
  br i1 %at.end, label %X1.leave, label %B

X1.leave:
  %X1.mask.here = total select i1 %live, i1 true, i1 %X1.mask
  %where.here = total select i1 %live, i32 poison, i32 %where.track
  br label %H.dispatch

B: predicate(%live)
  %sum = add i32 %i, %t
  %found = icmp eq i32 %sum, 9
  br i1 %found, label %X2.leave, label %L

X2.leave:
  br label %H.latch

L: predicate(%live)
  %i.next = add i32 %i, 1
  br label %H.latch

H.latch:
  %i.next.1 = phi i32 [ %i.next, %L ], [ poison, %X2.leave ]
  %stays = phi i1 [ true, %L ], [ false, %X2.leave ]
  %where.track.now = phi i32 [ poison, %L ], [ %i, %X2.leave ]
  %live.next = total select i1 %live, i1 %stays, i1 false
  %where.track.next = total select i1 %live, i32 %where.track.now, i32 %where.track
  br label %H.live

H.dispatch:
  %X1.mask.1 = phi i1 [ %X1.mask, %H.live ], [ %X1.mask.here, %X1.leave ]
  %where = phi i32 [ %where.track, %H.live ], [ %where.here, %X1.leave ]
  br i1 %X1.mask.1, label %X1, label %X2

X1:
  br label %R

X2:
  %where.1 = phi i32 [ %where, %H.dispatch ]
  br label %R

R:
  %r = phi i32 [ -1, %X1 ], [ %where.1, %X2 ]
  ret i32 %r
}

; linearized
define i32 @counted(i32 %t, i32 %n) {
P:
  br label %H.live

H.live:
  %live = phi i1 [ true, %P ], [ %live.next, %H.latch ]
  %i = phi i32 [ 0, %P ], [ %i.next, %H.latch ]
  %X1.mask = phi i1 [ false, %P ], [ %X1.mask, %H.latch ]
  %where.track = phi i32 [ poison, %P ], [ %where.track.next, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %at.end = icmp sge i32 %i, %n
  %0 = total freeze i1 %at.end
  br i1 %0, label %X1.leave, label %B

X1.leave: predicate(%live)
  %X1.mask.here = total select i1 %live, i1 true, i1 %X1.mask
  %where.here = total select i1 %live, i32 poison, i32 %where.track
  br label %H.dispatch

B: predicate(%live)
  %sum = add i32 %i, %t
  %found = icmp eq i32 %sum, 9
  %1 = total select i1 %live, i1 %found, i1 false
  %2 = total xor i1 %found, true
  %3 = total select i1 %live, i1 %2, i1 false
  br label %X2.leave

X2.leave: predicate(%1)
  br label %L

L: predicate(%3)
  %i.next = add i32 %i, 1
  br label %H.latch

H.latch: predicate(%live)
  %live.next = total select i1 %live, i1 %3, i1 false
  %where.track.next = total select i1 %live, i32 %i, i32 %where.track
  br label %H.live

H.dispatch:
  %X1.mask.1 = phi i1 [ %X1.mask, %H.live ], [ %X1.mask.here, %X1.leave ]
  %where = phi i32 [ %where.track, %H.live ], [ %where.here, %X1.leave ]
  %4 = total xor i1 %X1.mask.1, true
  br label %X1

X1: predicate(%X1.mask.1)
  br label %X2

X2: predicate(%4)
  %r = total select i1 %4, i32 %where, i32 -1
  br label %R

R:
  ret i32 %r
}
