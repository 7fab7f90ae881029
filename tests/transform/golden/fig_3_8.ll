define <4 x float> @myPow_vu_v4(<4 x float> %t, i32 inreg %y) {
entry:
  br label %H

H:
  %i = phi i32 [ 0, %entry ], [ %i.next, %H ]
  %r = phi <4 x float> [ splat (float 1.000000e+00), %entry ], [ %r.next, %H ]
  %r.next = fmul <4 x float> %r, %t
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %y
  br i1 %more, label %H, label %X

X:
  %out = phi <4 x float> [ %r.next, %H ]
  ret <4 x float> %out
}
