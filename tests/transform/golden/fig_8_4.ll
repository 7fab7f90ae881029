define i32 @f(i32 %t, i1 %c, i1 %u) {
a:
  br label %b

b: predicate(%c)
  %0 = total freeze i1 %u
  br i1 %0, label %b1, label %b2

b1: predicate(%c)
  %x1 = add i32 %t, 1
  br label %b3

b2: predicate(%c)
  %x2 = mul i32 %t, 3
  br label %b3

b3: predicate(%c)
  %x = phi i32 [ %x1, %b1 ], [ %x2, %b2 ]
  %r = total select i1 %c, i32 %x, i32 %t
  br label %d

d:
  ret i32 %r
}
