define i32 @nested(i32 %t, i32 %n) {
P:
  %entering = call i1 @weft.mask()
  br label %H.live

H.live:
  %live = phi i1 [ %entering, %P ], [ %live.next.1, %H.latch ] shadow(false)
  %i = phi i32 [ 0, %P ], [ %i.next.1, %H.latch ]
  %X1.mask = phi i1 [ false, %P ], [ %X1.mask.next, %H.latch ]
  %i1.track = phi i32 [ poison, %P ], [ %i1.track.next, %H.latch ]
  %j2.track = phi i32 [ poison, %P ], [ %j2.track.next.1, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %entering.1 = call i1 @weft.mask()
  br label %J.live

J.live: predicate(%live)
  %live.1 = phi i1 [ %entering.1, %H ], [ %live.next, %J.latch ] shadow(false)
  %j = phi i32 [ 0, %H ], [ %j.next.1, %J.latch ]
  %X2.mask = phi i1 [ false, %H ], [ %X2.mask.next, %J.latch ]
  %j2.track.1 = phi i32 [ poison, %H ], [ %j2.track.next, %J.latch ]
  %last.track = phi i32 [ poison, %H ], [ %last.track.next, %J.latch ]
  %stay.1 = total call i1 @weft.any(i1 %live.1)
  br i1 %stay.1, label %J, label %J.dispatch

J: predicate(%live.1)
  %sum = add i32 %i, %j
  %far = icmp sgt i32 %sum, %t
  br i1 %far, label %X2.leave, label %JL

X2.leave: predicate(%live)
  br label %J.latch

JL: predicate(%live.1)
  %j.next = add i32 %j, 2
  %inner = icmp slt i32 %j.next, %t
  br i1 %inner, label %J.latch, label %JX.leave

JX.leave: predicate(%live)
  br label %J.latch

J.latch: predicate(%live)
  %j.next.1 = phi i32 [ %j.next, %JL ], [ poison, %X2.leave ], [ poison, %JX.leave ]
  %stays = phi i1 [ true, %JL ], [ false, %X2.leave ], [ false, %JX.leave ]
  %X2.mask.now = phi i1 [ false, %JL ], [ true, %X2.leave ], [ false, %JX.leave ]
  %j2.track.now = phi i32 [ poison, %JL ], [ %j, %X2.leave ], [ poison, %JX.leave ]
  %last.track.now = phi i32 [ poison, %JL ], [ poison, %X2.leave ], [ %j.next, %JX.leave ]
  %live.next = total select i1 %live.1, i1 %stays, i1 false
  %0 = total select i1 %live.1, i1 %X2.mask.now, i1 false
  %X2.mask.next = total select i1 %0, i1 true, i1 %X2.mask
  %j2.track.next = total select i1 %live.1, i32 %j2.track.now, i32 %j2.track.1
  %last.track.next = total select i1 %live.1, i32 %last.track.now, i32 %last.track
  br label %J.live

J.dispatch: predicate(%live)
  %X2.mask.1 = phi i1 [ %X2.mask, %J.live ]
  %j2 = phi i32 [ %j2.track.1, %J.live ]
  %last = phi i32 [ %last.track, %J.live ]
  br i1 %X2.mask.1, label %X2.leave.1, label %JX

X2.leave.1:
  br label %H.latch

JX: predicate(%live)
  %last.1 = phi i32 [ %last, %J.dispatch ]
  %i.next = add i32 %i, %last.1
  br label %HL

HL: predicate(%live)
  %outer = icmp slt i32 %i.next, %n
  br i1 %outer, label %H.latch, label %X1.leave

X1.leave:
  br label %H.latch

H.latch:
  %i.next.1 = phi i32 [ %i.next, %HL ], [ poison, %X1.leave ], [ poison, %X2.leave.1 ]
  %stays.1 = phi i1 [ true, %HL ], [ false, %X1.leave ], [ false, %X2.leave.1 ]
  %X1.mask.now = phi i1 [ false, %HL ], [ true, %X1.leave ], [ false, %X2.leave.1 ]
  %i1.track.now = phi i32 [ poison, %HL ], [ %i.next, %X1.leave ], [ poison, %X2.leave.1 ]
  %j2.track.now.1 = phi i32 [ poison, %HL ], [ poison, %X1.leave ], [ %j2, %X2.leave.1 ]
  %live.next.1 = total select i1 %live, i1 %stays.1, i1 false
  %1 = total select i1 %live, i1 %X1.mask.now, i1 false
  %X1.mask.next = total select i1 %1, i1 true, i1 %X1.mask
  %i1.track.next = total select i1 %live, i32 %i1.track.now, i32 %i1.track
  %j2.track.next.1 = total select i1 %live, i32 %j2.track.now.1, i32 %j2.track
  br label %H.live

H.dispatch:
  %X1.mask.1 = phi i1 [ %X1.mask, %H.live ]
  %i1 = phi i32 [ %i1.track, %H.live ]
  %j2.1 = phi i32 [ %j2.track, %H.live ]
  br i1 %X1.mask.1, label %X1, label %X2

X1:
  %i1.1 = phi i32 [ %i1, %H.dispatch ]
  br label %R

X2:
  %j2.2 = phi i32 [ %j2.1, %H.dispatch ]
  br label %R

R:
  %r = phi i32 [ %i1.1, %X1 ], [ %j2.2, %X2 ]
  ret i32 %r
}

; linearized
define i32 @nested(i32 %t, i32 %n) {
P:
  br label %H.live

H.live:
  %live = phi i1 [ true, %P ], [ %live.next.1, %H.latch ]
  %i = phi i32 [ 0, %P ], [ %i.next, %H.latch ]
  %X1.mask = phi i1 [ false, %P ], [ %X1.mask.next, %H.latch ]
  %i1.track = phi i32 [ poison, %P ], [ %i1.track.next, %H.latch ]
  %j2.track = phi i32 [ poison, %P ], [ %j2.track.next.1, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  br label %J.live

J.live: predicate(%live)
  %live.1 = phi i1 [ %live, %H ], [ %live.next, %J.latch ]
  %j = phi i32 [ 0, %H ], [ %j.next, %J.latch ]
  %X2.mask = phi i1 [ false, %H ], [ %X2.mask.next, %J.latch ]
  %j2.track.1 = phi i32 [ poison, %H ], [ %j2.track.next, %J.latch ]
  %last.track = phi i32 [ poison, %H ], [ %last.track.next, %J.latch ]
  %stay.1 = total call i1 @weft.any(i1 %live.1)
  br i1 %stay.1, label %J, label %J.dispatch

J: predicate(%live.1)
  %sum = add i32 %i, %j
  %far = icmp sgt i32 %sum, %t
  %0 = total select i1 %live.1, i1 %far, i1 false
  %1 = total xor i1 %far, true
  %2 = total select i1 %live.1, i1 %1, i1 false
  br label %X2.leave

X2.leave: predicate(%0)
  br label %JL

JL: predicate(%2)
  %j.next = add i32 %j, 2
  %inner = icmp slt i32 %j.next, %t
  %3 = total xor i1 %inner, true
  %4 = total select i1 %2, i1 %3, i1 false
  %5 = total select i1 %2, i1 %inner, i1 false
  br label %JX.leave

JX.leave: predicate(%4)
  br label %J.latch

J.latch: predicate(%live.1)
  %live.next = total select i1 %live.1, i1 %5, i1 false
  %6 = total select i1 %live.1, i1 %0, i1 false
  %X2.mask.next = total select i1 %6, i1 true, i1 %X2.mask
  %j2.track.next = total select i1 %live.1, i32 %j, i32 %j2.track.1
  %last.track.next = total select i1 %live.1, i32 %j.next, i32 %last.track
  br label %J.live

J.dispatch: predicate(%live)
  %X2.mask.1 = phi i1 [ %X2.mask, %J.live ]
  %j2 = phi i32 [ %j2.track.1, %J.live ]
  %last = phi i32 [ %last.track, %J.live ]
  %7 = total select i1 %live, i1 %X2.mask.1, i1 false
  %8 = total xor i1 %X2.mask.1, true
  %9 = total select i1 %live, i1 %8, i1 false
  br label %X2.leave.1

X2.leave.1: predicate(%7)
  br label %JX

JX: predicate(%9)
  %i.next = add i32 %i, %last
  br label %HL

HL: predicate(%9)
  %outer = icmp slt i32 %i.next, %n
  %10 = total xor i1 %outer, true
  %11 = total select i1 %9, i1 %10, i1 false
  %12 = total select i1 %9, i1 %outer, i1 false
  br label %X1.leave

X1.leave: predicate(%11)
  br label %H.latch

H.latch: predicate(%live)
  %live.next.1 = total select i1 %live, i1 %12, i1 false
  %13 = total select i1 %live, i1 %11, i1 false
  %X1.mask.next = total select i1 %13, i1 true, i1 %X1.mask
  %i1.track.next = total select i1 %live, i32 %i.next, i32 %i1.track
  %j2.track.next.1 = total select i1 %live, i32 %j2, i32 %j2.track
  br label %H.live

H.dispatch:
  %X1.mask.1 = phi i1 [ %X1.mask, %H.live ]
  %i1 = phi i32 [ %i1.track, %H.live ]
  %j2.1 = phi i32 [ %j2.track, %H.live ]
  %14 = total xor i1 %X1.mask.1, true
  br label %X1

X1: predicate(%X1.mask.1)
  %i1.1 = phi i32 [ %i1, %H.dispatch ]
  br label %X2

X2: predicate(%14)
  %r = total select i1 %14, i32 %j2.1, i32 %i1.1
  br label %R

R:
  ret i32 %r
}
