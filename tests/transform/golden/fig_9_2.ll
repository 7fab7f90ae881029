define i32 @one_exit(i32 %t, i32 %n) {
P:
  %entering = call i1 @weft.mask()
  br label %H.live

H.live:
  %live = phi i1 [ %entering, %P ], [ %stay, %B ] shadow(false)
  %x = phi i32 [ %t, %P ], [ %xn, %B ]
  %out.track = phi i32 [ poison, %P ], [ %out.track.next, %B ]
  br label %H

H: predicate(%live)
  %c = icmp sgt i32 %x, 20
  %0 = total xor i1 %c, true
  %stay = total select i1 %live, i1 %0, i1 false
  %out.track.next = total select i1 %live, i32 %x, i32 %out.track
  %stays = total call i1 @weft.any(i1 %stay)
  br i1 %stays, label %B, label %H.dispatch

B: predicate(%stay)
  %xn = add i32 %x, 7
  br label %H.live

H.dispatch:
  %out = phi i32 [ %out.track.next, %H ]
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
  %live = phi i1 [ true, %P ], [ %stay, %B ]
  %x = phi i32 [ %t, %P ], [ %xn, %B ]
  %out.track = phi i32 [ poison, %P ], [ %out.track.next, %B ]
  br label %H

H: predicate(%live)
  %c = icmp sgt i32 %x, 20
  %0 = total xor i1 %c, true
  %stay = total select i1 %live, i1 %0, i1 false
  %out.track.next = total select i1 %live, i32 %x, i32 %out.track
  %stays = total call i1 @weft.any(i1 %stay)
  br i1 %stays, label %B, label %H.dispatch

B: predicate(%stay)
  %xn = add i32 %x, 7
  br label %H.live

H.dispatch:
  %out = phi i32 [ %out.track.next, %H ]
  br label %X

X:
  %out.1 = phi i32 [ %out, %H.dispatch ]
  ret i32 %out.1
}
