define i32 @cascade(i32 %t, i32 %far) {
A:
  %c1 = icmp sgt i32 %t, %far
  br i1 %c1, label %A1, label %B.any

B.any:
  %0 = call i1 @weft.mask()
  %1 = total call i1 @weft.any(i1 %0)
  br i1 %1, label %B, label %B.skip

B.skip:
  br label %X

A1:
  %x1 = mul i32 %t, 3
  br label %X

B:
  %t2 = add i32 %t, 4
  %c2 = icmp sgt i32 %t2, %far
  br i1 %c2, label %B1, label %C.any

C.any:
  %2 = call i1 @weft.mask()
  %3 = total call i1 @weft.any(i1 %2)
  br i1 %3, label %C, label %C.skip

C.skip:
  br label %X

B1:
  %x2 = mul i32 %t2, 5
  br label %X

C:
  %t3 = add i32 %t2, 4
  %c3 = icmp sgt i32 %t3, %far
  br i1 %c3, label %C1, label %D.any

D.any:
  %4 = call i1 @weft.mask()
  %5 = total call i1 @weft.any(i1 %4)
  br i1 %5, label %D, label %D.skip

D.skip:
  br label %X

C1:
  %x3 = mul i32 %t3, 7
  br label %X

D:
  %x4 = mul i32 %t, %t3
  br label %X

X:
  %r = phi i32 [ %x1, %A1 ], [ %x2, %B1 ], [ %x3, %C1 ], [ %x4, %D ], [ poison, %D.skip ], [ poison, %C.skip ], [ poison, %B.skip ]
  ret i32 %r
}

; linearized
define i32 @cascade(i32 %t, i32 %far) {
A:
  %c1 = icmp sgt i32 %t, %far
  %0 = total xor i1 %c1, true
  br label %A1

B.any: predicate(%0)
  %1 = total call i1 @weft.any(i1 %0)
  br i1 %1, label %B, label %B.skip

B.skip: predicate(%0)
  br label %X

A1: predicate(%c1)
  %x1 = mul i32 %t, 3
  br label %B.any

B: predicate(%0)
  %t2 = add i32 %t, 4
  %c2 = icmp sgt i32 %t2, %far
  %2 = total select i1 %0, i1 %c2, i1 false
  %3 = total xor i1 %c2, true
  %4 = total select i1 %0, i1 %3, i1 false
  br label %B1

C.any: predicate(%4)
  %5 = total call i1 @weft.any(i1 %4)
  br i1 %5, label %C, label %C.skip

C.skip: predicate(%4)
  br label %X

B1: predicate(%2)
  %x2 = mul i32 %t2, 5
  %r = total select i1 %2, i32 %x2, i32 %x1
  br label %C.any

C: predicate(%4)
  %t3 = add i32 %t2, 4
  %c3 = icmp sgt i32 %t3, %far
  %6 = total select i1 %4, i1 %c3, i1 false
  %7 = total xor i1 %c3, true
  %8 = total select i1 %4, i1 %7, i1 false
  br label %C1

D.any: predicate(%8)
  %9 = total call i1 @weft.any(i1 %8)
  br i1 %9, label %D, label %D.skip

D.skip: predicate(%8)
  br label %X

C1: predicate(%6)
  %x3 = mul i32 %t3, 7
  %r.1 = total select i1 %6, i32 %x3, i32 %r
  br label %D.any

D: predicate(%8)
  %x4 = mul i32 %t, %t3
  %r.2 = total select i1 %8, i32 %x4, i32 %r.1
  br label %X

X:
  %r.3 = phi i32 [ %r.2, %D ], [ %r.1, %D.skip ], [ %r, %C.skip ], [ %x1, %B.skip ]
  ret i32 %r.3
}
