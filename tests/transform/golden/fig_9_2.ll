define i32 @one_exit(i32 %t, i32 %n) {
P:
  %entering = call i1 @weft.mask()
  br label %H.live

H.live:
  %live = phi i1 [ %entering, %P ], [ %live.next, %H.latch ] shadow(false)
  %x = phi i32 [ %t, %P ], [ %x.next, %H.latch ]
  %out.track = phi i32 [ poison, %P ], [ %out.track.next, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %c = icmp sgt i32 %x, 20
  br i1 %c, label %X.leave, label %B

X.leave:
  br label %H.latch

B: predicate(%live)
  %xn = add i32 %x, 7
  br label %H.latch

H.latch:
  %x.next = phi i32 [ %xn, %B ], [ poison, %X.leave ]
  %stays = phi i1 [ true, %B ], [ false, %X.leave ]
  %out.track.now = phi i32 [ poison, %B ], [ %x, %X.leave ]
  %live.next = total select i1 %live, i1 %stays, i1 false
  %out.track.next = total select i1 %live, i32 %out.track.now, i32 %out.track
  br label %H.live

H.dispatch:
  %out = phi i32 [ %out.track, %H.live ]
  br label %X

X:
  %out.1 = phi i32 [ %out, %H.dispatch ]
  ret i32 %out.1
}

; linearized
define i32 @one_exit(i32 %t, i32 %n) {
P:
  br label %H.live

H.live:
  %live = phi i1 [ true, %P ], [ %live.next, %H.latch ]
  %x = phi i32 [ %t, %P ], [ %xn, %H.latch ]
  %out.track = phi i32 [ poison, %P ], [ %out.track.next, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %c = icmp sgt i32 %x, 20
  %0 = total select i1 %live, i1 %c, i1 false
  %1 = total xor i1 %c, true
  %2 = total select i1 %live, i1 %1, i1 false
  br label %X.leave

X.leave: predicate(%0)
  br label %B

B: predicate(%2)
  %xn = add i32 %x, 7
  br label %H.latch

H.latch: predicate(%live)
  %live.next = total select i1 %live, i1 %2, i1 false
  %out.track.next = total select i1 %live, i32 %x, i32 %out.track
  br label %H.live

H.dispatch:
  %out = phi i32 [ %out.track, %H.live ]
  br label %X

X:
  %out.1 = phi i32 [ %out, %H.dispatch ]
  ret i32 %out.1
}
