define i32 @two_exits(i32 %t, i32 %n) {
P:
  %entering = call i1 @weft.mask()
  br label %H.live

H.live:
  %live = phi i1 [ %entering, %P ], [ %live.next, %H.latch ] shadow(false)
  %i = phi i32 [ 0, %P ], [ %i.next.1, %H.latch ]
  %s = phi i32 [ %t, %P ], [ %s.next.1, %H.latch ]
  %X1.mask = phi i1 [ false, %P ], [ %X1.mask.next, %H.latch ]
  %s1.track = phi i32 [ poison, %P ], [ %s1.track.next, %H.latch ]
  %i2.track = phi i32 [ poison, %P ], [ %i2.track.next, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %c1 = icmp sgt i32 %s, 30
  br i1 %c1, label %X1.leave, label %B

X1.leave:
  br label %H.latch

B: predicate(%live)
  %s.next = add i32 %s, %i
  %i.next = add i32 %i, 1
  %c2 = icmp eq i32 %s.next, 21
  br i1 %c2, label %X2.leave, label %L

X2.leave:
  br label %H.latch

L: predicate(%live)
  br label %H.latch

H.latch:
  %i.next.1 = phi i32 [ %i.next, %L ], [ poison, %X1.leave ], [ poison, %X2.leave ]
  %s.next.1 = phi i32 [ %s.next, %L ], [ poison, %X1.leave ], [ poison, %X2.leave ]
  %stays = phi i1 [ true, %L ], [ false, %X1.leave ], [ false, %X2.leave ]
  %X1.mask.now = phi i1 [ false, %L ], [ true, %X1.leave ], [ false, %X2.leave ]
  %s1.track.now = phi i32 [ poison, %L ], [ %s, %X1.leave ], [ poison, %X2.leave ]
  %i2.track.now = phi i32 [ poison, %L ], [ poison, %X1.leave ], [ %i.next, %X2.leave ]
  %live.next = total select i1 %live, i1 %stays, i1 false
  %0 = total select i1 %live, i1 %X1.mask.now, i1 false
  %X1.mask.next = total select i1 %0, i1 true, i1 %X1.mask
  %s1.track.next = total select i1 %live, i32 %s1.track.now, i32 %s1.track
  %i2.track.next = total select i1 %live, i32 %i2.track.now, i32 %i2.track
  br label %H.live

H.dispatch:
  %X1.mask.1 = phi i1 [ %X1.mask, %H.live ]
  %s1 = phi i32 [ %s1.track, %H.live ]
  %i2 = phi i32 [ %i2.track, %H.live ]
  br i1 %X1.mask.1, label %X1, label %X2

X1:
  %s1.1 = phi i32 [ %s1, %H.dispatch ]
  br label %R

X2:
  %i2.1 = phi i32 [ %i2, %H.dispatch ]
  br label %R

R:
  %r = phi i32 [ %s1.1, %X1 ], [ %i2.1, %X2 ]
  ret i32 %r
}

; linearized
define i32 @two_exits(i32 %t, i32 %n) {
P:
  br label %H.live

H.live:
  %live = phi i1 [ true, %P ], [ %live.next, %H.latch ]
  %i = phi i32 [ 0, %P ], [ %i.next, %H.latch ]
  %s = phi i32 [ %t, %P ], [ %s.next, %H.latch ]
  %X1.mask = phi i1 [ false, %P ], [ %X1.mask.next, %H.latch ]
  %s1.track = phi i32 [ poison, %P ], [ %s1.track.next, %H.latch ]
  %i2.track = phi i32 [ poison, %P ], [ %i2.track.next, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %c1 = icmp sgt i32 %s, 30
  %0 = total select i1 %live, i1 %c1, i1 false
  %1 = total xor i1 %c1, true
  %2 = total select i1 %live, i1 %1, i1 false
  br label %X1.leave

X1.leave: predicate(%0)
  br label %B

B: predicate(%2)
  %s.next = add i32 %s, %i
  %i.next = add i32 %i, 1
  %c2 = icmp eq i32 %s.next, 21
  %3 = total select i1 %2, i1 %c2, i1 false
  %4 = total xor i1 %c2, true
  %5 = total select i1 %2, i1 %4, i1 false
  br label %X2.leave

X2.leave: predicate(%3)
  br label %L

L: predicate(%5)
  br label %H.latch

H.latch: predicate(%live)
  %live.next = total select i1 %live, i1 %5, i1 false
  %6 = total select i1 %live, i1 %0, i1 false
  %X1.mask.next = total select i1 %6, i1 true, i1 %X1.mask
  %s1.track.next = total select i1 %live, i32 %s, i32 %s1.track
  %i2.track.next = total select i1 %live, i32 %i.next, i32 %i2.track
  br label %H.live

H.dispatch:
  %X1.mask.1 = phi i1 [ %X1.mask, %H.live ]
  %s1 = phi i32 [ %s1.track, %H.live ]
  %i2 = phi i32 [ %i2.track, %H.live ]
  %7 = total xor i1 %X1.mask.1, true
  br label %X1

X1: predicate(%X1.mask.1)
  %s1.1 = phi i32 [ %s1, %H.dispatch ]
  br label %X2

X2: predicate(%7)
  %r = total select i1 %7, i32 %i2, i32 %s1.1
  br label %R

R:
  ret i32 %r
}
