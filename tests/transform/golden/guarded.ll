define i32 @some_run_it(i32 %t, i32 %n) {
entry:
  %few = icmp sgt i32 %t, 5
  br i1 %few, label %P, label %join

P:
  %0 = call i1 @weft.mask()
  %1 = total call i1 @weft.any(i1 %0)
  br i1 %1, label %H, label %H.skip

H.skip:
  br label %X

H:
  %i = phi i32 [ 0, %P ], [ %i.next, %H ]
  %s = phi i32 [ %t, %P ], [ %s.next, %H ]
  %s.next = add i32 %s, %i
  %i.next = add i32 %i, 1
  %again = icmp ne i32 %i.next, %n
  br i1 %again, label %H, label %X

X:
  %out = phi i32 [ %s.next, %H ], [ poison, %H.skip ]
  br label %join

join:
  %r = phi i32 [ %t, %entry ], [ %out, %X ]
  ret i32 %r
}

; linearized
define i32 @some_run_it(i32 %t, i32 %n) {
entry:
  %few = icmp sgt i32 %t, 5
  br label %P

P: predicate(%few)
  %0 = total call i1 @weft.any(i1 %few)
  br i1 %0, label %H, label %H.skip

H.skip: predicate(%few)
  br label %X

H: predicate(%few)
  %i = phi i32 [ 0, %P ], [ %i.next, %H ]
  %s = phi i32 [ %t, %P ], [ %s.next, %H ]
  %s.next = add i32 %s, %i
  %i.next = add i32 %i, 1
  %again = icmp ne i32 %i.next, %n
  %1 = total freeze i1 %again
  br i1 %1, label %H, label %X

X: predicate(%few)
  %out = phi i32 [ %s.next, %H ], [ poison, %H.skip ]
  %r = total select i1 %few, i32 %out, i32 %t
  br label %join

join:
  ret i32 %r
}
