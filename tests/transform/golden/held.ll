define i32 @bisection(i32 %t, i32 %n) {
P:
  %entering = call i1 @weft.mask()
  br label %H.live

H.live:
  %live = phi i1 [ %entering, %P ], [ %stay, %B ] shadow(false)
  %lo = phi i32 [ 0, %P ], [ %lo.held, %B ]
  %hi = phi i32 [ %n, %P ], [ %hi.next, %B ]
  br label %H

H: predicate(%live)
  %open = icmp slt i32 %lo, %hi
  %stay = total select i1 %live, i1 %open, i1 false
  %stays = total call i1 @weft.any(i1 %stay)
  br i1 %stays, label %B, label %H.dispatch

B: predicate(%stay)
  %sum = add i32 %lo, %hi
  %mid = lshr i32 %sum, 1
  %square = mul i32 %mid, %mid
  %below = icmp slt i32 %square, %t
  %above = add i32 %mid, 1
  %lo.next = select i1 %below, i32 %above, i32 %lo
  %hi.next = select i1 %below, i32 %hi, i32 %mid
  %lo.held = total select i1 %stay, i32 %lo.next, i32 %lo
  br label %H.live

H.dispatch:
  %found = phi i32 [ %lo, %H ]
  br label %X

X:
  %found.1 = phi i32 [ %found, %H.dispatch ]
  ret i32 %found.1
}
