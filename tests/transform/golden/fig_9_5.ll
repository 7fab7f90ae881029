define i32 @one_side(i32 %t, i1 %c) {
a:
  br i1 %c, label %b.any, label %c1

b.any:
  %0 = call i1 @weft.mask()
  %1 = total call i1 @weft.any(i1 %0)
  br i1 %1, label %b, label %b.skip

b.skip:
  br label %c1

b:
  %x = mul i32 %t, %t
  br label %c1

c1:
  %r = phi i32 [ %t, %a ], [ %x, %b ], [ poison, %b.skip ]
  ret i32 %r
}

; linearized
define i32 @one_side(i32 %t, i1 %c) {
a:
  br label %b.any

b.any: predicate(%c)
  %0 = total call i1 @weft.any(i1 %c)
  br i1 %0, label %b, label %b.skip

b.skip: predicate(%c)
  br label %c1

b: predicate(%c)
  %x = mul i32 %t, %t
  %r = total select i1 %c, i32 %x, i32 %t
  br label %c1

c1:
  %r.1 = phi i32 [ %r, %b ], [ %t, %b.skip ]
  ret i32 %r.1
}
