define i32 @sides(i32 %t, i32 %few, ptr %p) {
A:
  %c = icmp slt i32 %t, %few
  br i1 %c, label %B.all.any, label %C.all.any

B.all.any:
  %0 = call i1 @weft.mask()
  %1 = total call i1 @weft.any(i1 %0)
  br i1 %1, label %B.all, label %B.all.skip

B.all.skip:
  br label %X

B.all:
  %2 = call i1 @weft.mask()
  %3 = total call i1 @weft.all(i1 %2)
  br i1 %3, label %B.full, label %B

C.all.any:
  %4 = call i1 @weft.mask()
  %5 = total call i1 @weft.any(i1 %4)
  br i1 %5, label %C.all, label %C.all.skip

C.all.skip:
  br label %X

C.all:
  %6 = call i1 @weft.mask()
  %7 = total call i1 @weft.all(i1 %6)
  br i1 %7, label %C.full, label %C

B.full: predicate(true)
  %at = getelementptr i32, ptr %p, i32 %t
  %x = load i32, ptr %at
  %odd.bit = and i32 %x, 1
  %odd = icmp eq i32 %odd.bit, 1
  br i1 %odd, label %B1.all.any.full, label %B2.full

B1.full:
  %x1 = mul i32 %x, 3
  br label %B2.full

B2.full:
  %x2 = phi i32 [ %x, %B.full ], [ %x1, %B1.full ], [ %x1.1, %B1.full.full ], [ poison, %B1.all.skip.full ]
  br label %X

B1.all.full:
  %8 = call i1 @weft.mask()
  %9 = total call i1 @weft.all(i1 %8)
  br i1 %9, label %B1.full.full, label %B1.full

B1.full.full: predicate(true)
  %x1.1 = mul i32 %x, 3
  br label %B2.full

B1.all.any.full:
  %10 = call i1 @weft.mask()
  %11 = total call i1 @weft.any(i1 %10)
  br i1 %11, label %B1.all.full, label %B1.all.skip.full

B1.all.skip.full:
  br label %B2.full

B:
  %at.1 = getelementptr i32, ptr %p, i32 %t
  %x.1 = load i32, ptr %at.1
  %odd.bit.1 = and i32 %x.1, 1
  %odd.1 = icmp eq i32 %odd.bit.1, 1
  br i1 %odd.1, label %B1.all.any, label %B2

B1.all.any:
  %12 = call i1 @weft.mask()
  %13 = total call i1 @weft.any(i1 %12)
  br i1 %13, label %B1.all, label %B1.all.skip

B1.all.skip:
  br label %B2

B1.all:
  %14 = call i1 @weft.mask()
  %15 = total call i1 @weft.all(i1 %14)
  br i1 %15, label %B1.full.1, label %B1

B1.full.1: predicate(true)
  %x1.2 = mul i32 %x.1, 3
  br label %B2

B1:
  %x1.3 = mul i32 %x.1, 3
  br label %B2

B2:
  %x2.1 = phi i32 [ %x.1, %B ], [ %x1.3, %B1 ], [ %x1.2, %B1.full.1 ], [ poison, %B1.all.skip ]
  br label %X

C.full: predicate(true)
  %y = sub i32 %t, 7
  br label %X

C:
  %y.1 = sub i32 %t, 7
  br label %X

X:
  %r = phi i32 [ %x2.1, %B2 ], [ %y.1, %C ], [ %y, %C.full ], [ poison, %C.all.skip ], [ %x2, %B2.full ], [ poison, %B.all.skip ]
  ret i32 %r
}

; linearized
define i32 @sides(i32 %t, i32 %few, ptr %p) {
A:
  %c = icmp slt i32 %t, %few
  %0 = total xor i1 %c, true
  br label %B.all.any

B.all.any: predicate(%c)
  %1 = total call i1 @weft.any(i1 %c)
  br i1 %1, label %B.all, label %B.all.skip

B.all.skip: predicate(%c)
  br label %C.all.any

B.all: predicate(%c)
  %2 = total call i1 @weft.all(i1 %c)
  br i1 %2, label %B.full, label %B

C.all.any: predicate(%0)
  %r = phi i32 [ %x2.1, %B2.full ], [ %x2.3, %B2 ], [ poison, %B.all.skip ]
  %3 = total call i1 @weft.any(i1 %0)
  br i1 %3, label %C.all, label %C.all.skip

C.all.skip: predicate(%0)
  br label %X

C.all: predicate(%0)
  %4 = total call i1 @weft.all(i1 %0)
  br i1 %4, label %C.full, label %C

B.full:
  %at = getelementptr i32, ptr %p, i32 %t
  %x = load i32, ptr %at
  %odd.bit = and i32 %x, 1
  %odd = icmp eq i32 %odd.bit, 1
  br label %B1.all.any.full

B1.full: predicate(%odd)
  %x1 = mul i32 %x, 3
  %x2 = total select i1 %odd, i32 %x1, i32 %x
  br label %B2.full

B2.full:
  %x2.1 = phi i32 [ %x2, %B1.full ], [ %x1.1, %B1.full.full ], [ %x, %B1.all.skip.full ]
  br label %C.all.any

B1.all.full: predicate(%odd)
  %5 = total call i1 @weft.all(i1 %odd)
  br i1 %5, label %B1.full.full, label %B1.full

B1.full.full:
  %x1.1 = mul i32 %x, 3
  br label %B2.full

B1.all.any.full: predicate(%odd)
  %6 = total call i1 @weft.any(i1 %odd)
  br i1 %6, label %B1.all.full, label %B1.all.skip.full

B1.all.skip.full: predicate(%odd)
  br label %B2.full

B: predicate(%c)
  %at.1 = getelementptr i32, ptr %p, i32 %t
  %x.1 = load i32, ptr %at.1
  %odd.bit.1 = and i32 %x.1, 1
  %odd.1 = icmp eq i32 %odd.bit.1, 1
  %7 = total select i1 %c, i1 %odd.1, i1 false
  br label %B1.all.any

B1.all.any: predicate(%7)
  %8 = total call i1 @weft.any(i1 %7)
  br i1 %8, label %B1.all, label %B1.all.skip

B1.all.skip: predicate(%7)
  br label %B2

B1.all: predicate(%7)
  %9 = total call i1 @weft.all(i1 %7)
  br i1 %9, label %B1.full.1, label %B1

B1.full.1:
  %x1.2 = mul i32 %x.1, 3
  br label %B2

B1: predicate(%7)
  %x1.3 = mul i32 %x.1, 3
  %x2.2 = total select i1 %7, i32 %x1.3, i32 %x.1
  br label %B2

B2: predicate(%c)
  %x2.3 = phi i32 [ %x2.2, %B1 ], [ %x1.2, %B1.full.1 ], [ %x.1, %B1.all.skip ]
  br label %C.all.any

C.full:
  %y = sub i32 %t, 7
  br label %X

C: predicate(%0)
  %y.1 = sub i32 %t, 7
  %r.1 = total select i1 %0, i32 %y.1, i32 %r
  br label %X

X:
  %r.2 = phi i32 [ %r.1, %C ], [ %y, %C.full ], [ %r, %C.all.skip ]
  ret i32 %r.2
}
