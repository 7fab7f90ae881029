define i32 @bisection(i32 %t, i32 %n) {
P:
  %entering = call i1 @weft.mask()
  br label %H.live

H.live:
  %live = phi i1 [ %entering, %P ], [ %live.next, %H.latch ] shadow(false)
  %lo = phi i32 [ 0, %P ], [ %lo.held, %H.latch ]
  %hi = phi i32 [ %n, %P ], [ %hi.next.1, %H.latch ]
  %stay = total call i1 @weft.any(i1 %live)
  br i1 %stay, label %H, label %H.dispatch

H: predicate(%live)
  %open = icmp slt i32 %lo, %hi
  br i1 %open, label %B, label %X.leave

X.leave:
  br label %H.latch

B: predicate(%live)
  %sum = add i32 %lo, %hi
  %mid = lshr i32 %sum, 1
  %square = mul i32 %mid, %mid
  %below = icmp slt i32 %square, %t
  %above = add i32 %mid, 1
  %lo.next = select i1 %below, i32 %above, i32 %lo
  %hi.next = select i1 %below, i32 %hi, i32 %mid
  br label %H.latch

H.latch:
  %lo.next.1 = phi i32 [ %lo.next, %B ], [ poison, %X.leave ]
  %hi.next.1 = phi i32 [ %hi.next, %B ], [ poison, %X.leave ]
  %stays = phi i1 [ true, %B ], [ false, %X.leave ]
  %live.next = total select i1 %live, i1 %stays, i1 false
  %lo.held = total select i1 %live.next, i32 %lo.next.1, i32 %lo
  br label %H.live

H.dispatch:
  %found = phi i32 [ %lo, %H.live ]
  br label %X

X:
  %found.1 = phi i32 [ %found, %H.dispatch ]
  ret i32 %found.1
}
