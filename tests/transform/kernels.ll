; Made from kernels.c, which says how.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define i32 @collatz(i32 %t) {
entry:
  %inc = add i32 %t, 1
  br label %while.cond

while.cond:
  %t.addr.0 = phi i32 [ %inc, %entry ], [ %cond, %cond.end ]
  %c.0 = phi i32 [ 0, %entry ], [ %inc2, %cond.end ]
  %cmp = icmp ne i32 %t.addr.0, 1
  br i1 %cmp, label %land.rhs, label %land.end

land.rhs:
  %cmp1 = icmp slt i32 %c.0, 200
  br label %land.end

land.end:
  %0 = phi i1 [ false, %while.cond ], [ %cmp1, %land.rhs ]
  br i1 %0, label %while.body, label %while.end

while.body:
  %and = and i32 %t.addr.0, 1
  %tobool = icmp ne i32 %and, 0
  br i1 %tobool, label %cond.true, label %cond.false

cond.true:
  %mul = mul i32 3, %t.addr.0
  %add = add i32 %mul, 1
  br label %cond.end

cond.false:
  %shr = lshr i32 %t.addr.0, 1
  br label %cond.end

cond.end:
  %cond = phi i32 [ %add, %cond.true ], [ %shr, %cond.false ]
  %inc2 = add nsw i32 %c.0, 1
  br label %while.cond

while.end:
  ret i32 %c.0
}

define i32 @mandelbrot(i32 %t) {
entry:
  %conv = sitofp i32 %t to float
  %0 = call float @llvm.fmuladd.f32(float %conv, float 0x3FA99999A0000000, float -2.000000e+00)
  br label %for.cond

for.cond:
  %i.0 = phi i32 [ 0, %entry ], [ %inc, %for.inc ]
  %y.0 = phi float [ 0.000000e+00, %entry ], [ %y.1, %for.inc ]
  %x.0 = phi float [ 0.000000e+00, %entry ], [ %x.1, %for.inc ]
  %cmp = icmp slt i32 %i.0, 30
  br i1 %cmp, label %for.body, label %for.end

for.body:
  %mul = fmul float %x.0, %x.0
  %mul2 = fmul float %y.0, %y.0
  %add = fadd float %mul, %mul2
  %cmp3 = fcmp ogt float %add, 4.000000e+00
  br i1 %cmp3, label %if.then, label %if.end

if.then:
  br label %cleanup

if.end:
  %mul5 = fmul float 2.000000e+00, %x.0
  %1 = call float @llvm.fmuladd.f32(float %mul5, float %y.0, float 0x3FD3333340000000)
  %sub = fsub float %mul, %mul2
  %add7 = fadd float %sub, %0
  br label %cleanup

cleanup:
  %y.1 = phi float [ %y.0, %if.then ], [ %1, %if.end ]
  %x.1 = phi float [ %x.0, %if.then ], [ %add7, %if.end ]
  %cleanup.dest.slot.0 = phi i32 [ 2, %if.then ], [ 0, %if.end ]
  switch i32 %cleanup.dest.slot.0, label %unreachable [
    i32 0, label %cleanup.cont
    i32 2, label %for.end
  ]

cleanup.cont:
  br label %for.inc

for.inc:
  %inc = add nsw i32 %i.0, 1
  br label %for.cond

for.end:
  ret i32 %i.0

unreachable:
  unreachable
}

declare float @llvm.fmuladd.f32(float, float, float)

define i32 @two_levels(i32 %t, i32 %n) {
entry:
  br label %for.cond

for.cond:
  %s.0 = phi i32 [ 0, %entry ], [ %xor15, %for.inc16 ]
  %i.0 = phi i32 [ 0, %entry ], [ %inc17, %for.inc16 ]
  %cmp = icmp slt i32 %i.0, %n
  br i1 %cmp, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %cleanup18

for.body:
  br label %for.cond1

for.cond1:
  %s.2 = phi i32 [ %s.0, %for.body ], [ %add14, %for.inc ]
  %j.0 = phi i32 [ 0, %for.body ], [ %inc, %for.inc ]
  %rem = srem i32 %t, 7
  %cmp2 = icmp slt i32 %j.0, %rem
  br i1 %cmp2, label %for.body4, label %for.cond.cleanup3

for.cond.cleanup3:
  br label %cleanup

for.body4:
  %mul = mul nsw i32 %i.0, %j.0
  %xor = xor i32 %mul, %t
  %rem5 = srem i32 %xor, 11
  %cmp6 = icmp eq i32 %rem5, 3
  br i1 %cmp6, label %if.then, label %if.end

if.then:
  br label %cleanup

if.end:
  %add = add nsw i32 %i.0, %j.0
  %rem7 = srem i32 %add, 5
  %rem8 = srem i32 %t, 5
  %cmp9 = icmp eq i32 %rem7, %rem8
  br i1 %cmp9, label %if.then10, label %if.end12

if.then10:
  %add11 = add nsw i32 %s.2, 100
  br label %cleanup

if.end12:
  %mul13 = mul nsw i32 %i.0, %j.0
  %add14 = add nsw i32 %s.2, %mul13
  br label %for.inc

for.inc:
  %inc = add nsw i32 %j.0, 1
  br label %for.cond1

cleanup:
  %s.3 = phi i32 [ %s.2, %if.then ], [ %add11, %if.then10 ], [ %s.2, %for.cond.cleanup3 ]
  %cleanup.dest.slot.1 = phi i32 [ 8, %if.then ], [ 5, %if.then10 ], [ 5, %for.cond.cleanup3 ]
  switch i32 %cleanup.dest.slot.1, label %cleanup18 [
    i32 5, label %for.end
  ]

for.end:
  %xor15 = xor i32 %s.3, %t
  br label %for.inc16

for.inc16:
  %inc17 = add nsw i32 %i.0, 1
  br label %for.cond

cleanup18:
  %s.1 = phi i32 [ %s.3, %cleanup ], [ %s.0, %for.cond.cleanup ]
  %cleanup.dest.slot.0 = phi i32 [ %cleanup.dest.slot.1, %cleanup ], [ 2, %for.cond.cleanup ]
  switch i32 %cleanup.dest.slot.0, label %cleanup22 [
    i32 2, label %for.end20
    i32 8, label %out
  ]

for.end20:
  %add21 = add nsw i32 %s.1, 7
  br label %out

out:
  %s.4 = phi i32 [ %add21, %for.end20 ], [ %s.1, %cleanup18 ]
  br label %cleanup22

cleanup22:
  %retval.0 = phi i32 [ undef, %cleanup18 ], [ %s.4, %out ]
  ret i32 %retval.0
}

define i32 @switch_in_loop(i32 %t) {
entry:
  br label %for.cond

for.cond:
  %r.0 = phi i32 [ 0, %entry ], [ %r.4, %for.inc ]
  %k.0 = phi i32 [ 0, %entry ], [ %inc, %for.inc ]
  %rem = srem i32 %t, 9
  %cmp = icmp slt i32 %k.0, %rem
  br i1 %cmp, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %cleanup

for.body:
  %add = add nsw i32 %t, %k.0
  %rem1 = srem i32 %add, 5
  switch i32 %rem1, label %sw.default [
    i32 0, label %sw.bb
    i32 1, label %sw.bb3
    i32 2, label %sw.bb4
    i32 3, label %sw.bb5
  ]

sw.bb:
  %add2 = add nsw i32 %r.0, 1
  br label %sw.epilog

sw.bb3:
  %mul = mul nsw i32 %r.0, 3
  br label %sw.bb4

sw.bb4:
  %r.2 = phi i32 [ %mul, %sw.bb3 ], [ %r.0, %for.body ]
  %sub = sub nsw i32 %r.2, 2
  br label %for.inc

sw.bb5:
  %cmp6 = icmp sgt i32 %r.0, 50
  br i1 %cmp6, label %if.then, label %if.end

if.then:
  %mul7 = mul nsw i32 %r.0, 7
  br label %cleanup

if.end:
  %add8 = add nsw i32 %r.0, 11
  br label %sw.epilog

sw.default:
  %xor = xor i32 %r.0, %k.0
  br label %sw.epilog

sw.epilog:
  %r.3 = phi i32 [ %xor, %sw.default ], [ %add2, %sw.bb ], [ %add8, %if.end ]
  %rem9 = srem i32 %r.3, 13
  %cmp10 = icmp eq i32 %rem9, 5
  br i1 %cmp10, label %if.then11, label %if.end12

if.then11:
  br label %cleanup

if.end12:
  br label %for.inc

for.inc:
  %r.4 = phi i32 [ %r.3, %if.end12 ], [ %sub, %sw.bb4 ]
  %inc = add nsw i32 %k.0, 1
  br label %for.cond

cleanup:
  %retval.0 = phi i32 [ undef, %if.then11 ], [ %mul7, %if.then ], [ undef, %for.cond.cleanup ]
  %r.1 = phi i32 [ %r.3, %if.then11 ], [ %r.0, %if.then ], [ %r.0, %for.cond.cleanup ]
  %cleanup.dest.slot.0 = phi i32 [ 2, %if.then11 ], [ 1, %if.then ], [ 2, %for.cond.cleanup ]
  switch i32 %cleanup.dest.slot.0, label %cleanup13 [
    i32 2, label %for.end
  ]

for.end:
  br label %cleanup13

cleanup13:
  %retval.1 = phi i32 [ %retval.0, %cleanup ], [ %r.1, %for.end ]
  ret i32 %retval.1
}

define i32 @diamonds(i32 %t) {
entry:
  %and = and i32 %t, 1
  %tobool = icmp ne i32 %and, 0
  br i1 %tobool, label %if.then, label %if.else5

if.then:
  %and1 = and i32 %t, 2
  %tobool2 = icmp ne i32 %and1, 0
  br i1 %tobool2, label %if.then3, label %if.else

if.then3:
  %mul = mul nsw i32 %t, 3
  br label %if.end

if.else:
  %add = add nsw i32 %t, 9
  br label %if.end

if.end:
  %a.0 = phi i32 [ %mul, %if.then3 ], [ %add, %if.else ]
  %add4 = add nsw i32 %a.0, 5
  br label %if.end11

if.else5:
  %sub = sub nsw i32 %t, 4
  %and6 = and i32 %t, 4
  %tobool7 = icmp ne i32 %and6, 0
  br i1 %tobool7, label %if.then8, label %if.end10

if.then8:
  %mul9 = mul nsw i32 %sub, %sub
  br label %if.end10

if.end10:
  %a.2 = phi i32 [ %mul9, %if.then8 ], [ %sub, %if.else5 ]
  br label %if.end11

if.end11:
  %a.1 = phi i32 [ %add4, %if.end ], [ %a.2, %if.end10 ]
  %cmp = icmp sgt i32 %a.1, 20
  br i1 %cmp, label %if.then12, label %if.end14

if.then12:
  %sub13 = sub nsw i32 %a.1, %t
  br label %if.end14

if.end14:
  %a.3 = phi i32 [ %sub13, %if.then12 ], [ %a.1, %if.end11 ]
  ret i32 %a.3
}

define i32 @three_exits(i32 %t, i32 %n) {
entry:
  br label %for.cond

for.cond:
  %i.0 = phi i32 [ 0, %entry ], [ %inc, %if.end10 ]
  %a.0 = phi i32 [ 0, %entry ], [ %add5, %if.end10 ]
  %cmp = icmp sge i32 %i.0, %n
  br i1 %cmp, label %if.then, label %if.end

if.then:
  %add = add nsw i32 %a.0, 1000
  br label %for.end

if.end:
  %mul = mul nsw i32 %t, %i.0
  %rem = srem i32 %mul, 17
  %cmp1 = icmp eq i32 %rem, 4
  br i1 %cmp1, label %if.then2, label %if.end4

if.then2:
  %add3 = add nsw i32 %a.0, 2000
  br label %for.end

if.end4:
  %add5 = add nsw i32 %a.0, %i.0
  %mul6 = mul nsw i32 %t, 5
  %add7 = add nsw i32 %mul6, 40
  %cmp8 = icmp sgt i32 %add5, %add7
  br i1 %cmp8, label %if.then9, label %if.end10

if.then9:
  %sub = sub nsw i32 0, %add5
  br label %for.end

if.end10:
  %inc = add nsw i32 %i.0, 1
  br label %for.cond

for.end:
  %a.1 = phi i32 [ %add, %if.then ], [ %add3, %if.then2 ], [ %sub, %if.then9 ]
  %mul11 = mul nsw i32 %a.1, 10
  %add12 = add nsw i32 %mul11, %i.0
  ret i32 %add12
}

define i32 @returns_from_inside(i32 %t) {
entry:
  br label %while.cond

while.cond:
  %retval.0 = phi i32 [ undef, %entry ], [ %retval.1, %cleanup.cont ], [ %retval.1, %cleanup ]
  %s.0 = phi i32 [ 0, %entry ], [ %s.2, %cleanup.cont ], [ %s.2, %cleanup ]
  %i.0 = phi i32 [ %t, %entry ], [ %i.1, %cleanup.cont ], [ %i.1, %cleanup ]
  %cmp = icmp sgt i32 %i.0, 0
  br i1 %cmp, label %while.body, label %while.end

while.body:
  br label %do.body

do.body:
  %s.1 = phi i32 [ %s.0, %while.body ], [ %add, %do.cond ]
  %j.0 = phi i32 [ %i.0, %while.body ], [ %sub, %do.cond ]
  %add = add nsw i32 %s.1, %j.0
  %sub = sub nsw i32 %j.0, 3
  %cmp1 = icmp sgt i32 %add, 500
  br i1 %cmp1, label %if.then, label %if.end

if.then:
  br label %cleanup

if.end:
  br label %do.cond

do.cond:
  %cmp2 = icmp sgt i32 %sub, 0
  br i1 %cmp2, label %do.body, label %do.end

do.end:
  %sub3 = sub nsw i32 %i.0, 2
  %rem = srem i32 %add, 7
  %cmp4 = icmp eq i32 %rem, 0
  br i1 %cmp4, label %if.then5, label %if.end6

if.then5:
  %dec = add nsw i32 %sub3, -1
  br label %cleanup

if.end6:
  %inc = add nsw i32 %add, 1
  br label %cleanup

cleanup:
  %retval.1 = phi i32 [ %add, %if.then ], [ %retval.0, %if.then5 ], [ %retval.0, %if.end6 ]
  %s.2 = phi i32 [ %add, %if.then ], [ %add, %if.then5 ], [ %inc, %if.end6 ]
  %i.1 = phi i32 [ %i.0, %if.then ], [ %dec, %if.then5 ], [ %sub3, %if.end6 ]
  %cleanup.dest.slot.0 = phi i32 [ 1, %if.then ], [ 2, %if.then5 ], [ 0, %if.end6 ]
  switch i32 %cleanup.dest.slot.0, label %cleanup7 [
    i32 0, label %cleanup.cont
    i32 2, label %while.cond
  ]

cleanup.cont:
  br label %while.cond

while.end:
  br label %cleanup7

cleanup7:
  %retval.2 = phi i32 [ %retval.1, %cleanup ], [ %s.0, %while.end ]
  ret i32 %retval.2
}

define i32 @exits_to_three_depths(i32 %t, i32 %n) {
entry:
  br label %for.cond

for.cond:
  %s.0 = phi i32 [ 0, %entry ], [ %xor27, %for.inc28 ]
  %i.0 = phi i32 [ 0, %entry ], [ %inc29, %for.inc28 ]
  %cmp = icmp slt i32 %i.0, %n
  br i1 %cmp, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %cleanup30

for.body:
  br label %for.cond1

for.cond1:
  %s.2 = phi i32 [ %s.0, %for.body ], [ %add21, %for.inc22 ]
  %j.0 = phi i32 [ 0, %for.body ], [ %inc23, %for.inc22 ]
  %cmp2 = icmp sle i32 %j.0, %i.0
  br i1 %cmp2, label %for.body4, label %for.cond.cleanup3

for.cond.cleanup3:
  br label %cleanup24

for.body4:
  br label %for.cond5

for.cond5:
  %s.4 = phi i32 [ %s.2, %for.body4 ], [ %add, %for.inc ]
  %k.0 = phi i32 [ %j.0, %for.body4 ], [ %inc, %for.inc ]
  %cmp6 = icmp slt i32 %k.0, %n
  br i1 %cmp6, label %for.body8, label %for.cond.cleanup7

for.cond.cleanup7:
  br label %cleanup

for.body8:
  %mul = mul nsw i32 %j.0, %k.0
  %xor = xor i32 %i.0, %mul
  %add = add nsw i32 %s.4, %xor
  %rem = srem i32 %add, 7
  %rem9 = srem i32 %t, 7
  %cmp10 = icmp eq i32 %rem, %rem9
  br i1 %cmp10, label %if.then, label %if.end

if.then:
  br label %cleanup

if.end:
  %rem11 = srem i32 %add, 11
  %rem12 = srem i32 %t, 11
  %cmp13 = icmp eq i32 %rem11, %rem12
  br i1 %cmp13, label %if.then14, label %if.end15

if.then14:
  br label %cleanup

if.end15:
  %rem16 = srem i32 %add, 23
  %rem17 = srem i32 %t, 23
  %cmp18 = icmp eq i32 %rem16, %rem17
  br i1 %cmp18, label %if.then19, label %if.end20

if.then19:
  br label %cleanup

if.end20:
  br label %for.inc

for.inc:
  %inc = add nsw i32 %k.0, 1
  br label %for.cond5

cleanup:
  %s.5 = phi i32 [ %add, %if.then ], [ %add, %if.then14 ], [ %add, %if.then19 ], [ %s.4, %for.cond.cleanup7 ]
  %cleanup.dest.slot.2 = phi i32 [ 8, %if.then ], [ 11, %if.then14 ], [ 12, %if.then19 ], [ 8, %for.cond.cleanup7 ]
  switch i32 %cleanup.dest.slot.2, label %cleanup24 [
    i32 8, label %for.end
  ]

for.end:
  %add21 = add nsw i32 %s.5, 3
  br label %for.inc22

for.inc22:
  %inc23 = add nsw i32 %j.0, 1
  br label %for.cond1

cleanup24:
  %s.3 = phi i32 [ %s.5, %cleanup ], [ %s.2, %for.cond.cleanup3 ]
  %cleanup.dest.slot.1 = phi i32 [ %cleanup.dest.slot.2, %cleanup ], [ 5, %for.cond.cleanup3 ]
  switch i32 %cleanup.dest.slot.1, label %cleanup30 [
    i32 5, label %for.end26
    i32 11, label %next
  ]

for.end26:
  br label %next

next:
  %xor27 = xor i32 %s.3, 5
  br label %for.inc28

for.inc28:
  %inc29 = add nsw i32 %i.0, 1
  br label %for.cond

cleanup30:
  %s.1 = phi i32 [ %s.3, %cleanup24 ], [ %s.0, %for.cond.cleanup ]
  %cleanup.dest.slot.0 = phi i32 [ %cleanup.dest.slot.1, %cleanup24 ], [ 2, %for.cond.cleanup ]
  switch i32 %cleanup.dest.slot.0, label %cleanup34 [
    i32 2, label %for.end32
    i32 12, label %end
  ]

for.end32:
  %add33 = add nsw i32 %s.1, 1000
  br label %end

end:
  %s.6 = phi i32 [ %add33, %for.end32 ], [ %s.1, %cleanup30 ]
  br label %cleanup34

cleanup34:
  %retval.0 = phi i32 [ undef, %cleanup30 ], [ %s.6, %end ]
  ret i32 %retval.0
}

define i32 @continues(i32 %t) {
entry:
  br label %for.cond

for.cond:
  %s.0 = phi i32 [ 0, %entry ], [ %s.1, %for.inc ]
  %i.0 = phi i32 [ 0, %entry ], [ %inc, %for.inc ]
  %cmp = icmp slt i32 %i.0, 12
  br i1 %cmp, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %for.end

for.body:
  %add = add nsw i32 %i.0, %t
  %rem = srem i32 %add, 3
  %cmp1 = icmp eq i32 %rem, 0
  br i1 %cmp1, label %if.then, label %if.end

if.then:
  br label %for.inc

if.end:
  %add2 = add nsw i32 %s.0, %i.0
  %rem3 = srem i32 %add2, 5
  %rem4 = srem i32 %t, 5
  %cmp5 = icmp eq i32 %rem3, %rem4
  br i1 %cmp5, label %if.then6, label %if.end7

if.then6:
  br label %for.inc

if.end7:
  %mul = mul nsw i32 %add2, 2
  br label %for.inc

for.inc:
  %s.1 = phi i32 [ %s.0, %if.then ], [ %add2, %if.then6 ], [ %mul, %if.end7 ]
  %inc = add nsw i32 %i.0, 1
  br label %for.cond

for.end:
  ret i32 %s.0
}

define i32 @uniform_exit(i32 %t, i32 %n) {
entry:
  br label %for.cond

for.cond:
  %i.0 = phi i32 [ 0, %entry ], [ %inc, %if.end4 ]
  %s.0 = phi i32 [ %t, %entry ], [ %add1, %if.end4 ]
  %cmp = icmp eq i32 %i.0, %n
  br i1 %cmp, label %if.then, label %if.end

if.then:
  %add = add nsw i32 %s.0, 5000
  br label %for.end

if.end:
  %add1 = add nsw i32 %s.0, %i.0
  %rem = srem i32 %add1, 19
  %cmp2 = icmp eq i32 %rem, 3
  br i1 %cmp2, label %if.then3, label %if.end4

if.then3:
  %sub = sub nsw i32 %add1, 100
  br label %for.end

if.end4:
  %inc = add nsw i32 %i.0, 1
  br label %for.cond

for.end:
  %s.1 = phi i32 [ %add, %if.then ], [ %sub, %if.then3 ]
  %mul = mul nsw i32 %s.1, 100
  %add5 = add nsw i32 %mul, %i.0
  ret i32 %add5
}

define i32 @uniform_loop_of_some(i32 %t, i32 %n) {
entry:
  %rem = srem i32 %t, 3
  %cmp = icmp eq i32 %rem, 1
  br i1 %cmp, label %if.then, label %if.else

if.then:
  br label %for.cond

for.cond:
  %s.0 = phi i32 [ %t, %if.then ], [ %add, %for.inc ]
  %i.0 = phi i32 [ 0, %if.then ], [ %inc, %for.inc ]
  %cmp1 = icmp slt i32 %i.0, %n
  br i1 %cmp1, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %for.end

for.body:
  %mul = mul nsw i32 %i.0, %t
  %add = add nsw i32 %s.0, %mul
  br label %for.inc

for.inc:
  %inc = add nsw i32 %i.0, 1
  br label %for.cond

for.end:
  br label %if.end8

if.else:
  %rem2 = srem i32 %t, 5
  %cmp3 = icmp eq i32 %rem2, 0
  br i1 %cmp3, label %if.then4, label %if.end

if.then4:
  br label %do.body

do.body:
  %s.3 = phi i32 [ %t, %if.then4 ], [ %sub, %do.cond ]
  %i5.0 = phi i32 [ 0, %if.then4 ], [ %add6, %do.cond ]
  %sub = sub nsw i32 %s.3, %i5.0
  %add6 = add nsw i32 %i5.0, 2
  br label %do.cond

do.cond:
  %cmp7 = icmp slt i32 %add6, %n
  br i1 %cmp7, label %do.body, label %do.end

do.end:
  br label %if.end

if.end:
  %s.2 = phi i32 [ %sub, %do.end ], [ %t, %if.else ]
  br label %if.end8

if.end8:
  %s.1 = phi i32 [ %s.0, %for.end ], [ %s.2, %if.end ]
  ret i32 %s.1
}

define i32 @uniform_loop_inside(i32 %t, i32 %n) {
entry:
  br label %for.cond

for.cond:
  %s.0 = phi i32 [ 0, %entry ], [ %s.3, %for.inc16 ]
  %i.0 = phi i32 [ 0, %entry ], [ %inc17, %for.inc16 ]
  %rem = srem i32 %t, 6
  %cmp = icmp slt i32 %i.0, %rem
  br i1 %cmp, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %for.end19

for.body:
  br label %for.cond1

for.cond1:
  %s.1 = phi i32 [ %s.0, %for.body ], [ %add, %for.inc ]
  %j.0 = phi i32 [ 0, %for.body ], [ %inc, %for.inc ]
  %cmp2 = icmp slt i32 %j.0, %n
  br i1 %cmp2, label %for.body4, label %for.cond.cleanup3

for.cond.cleanup3:
  br label %cleanup

for.body4:
  %mul = mul nsw i32 %i.0, %j.0
  %add = add nsw i32 %s.1, %mul
  %sub = sub nsw i32 %n, 2
  %cmp5 = icmp eq i32 %j.0, %sub
  br i1 %cmp5, label %if.then, label %if.end

if.then:
  br label %cleanup

if.end:
  br label %for.inc

for.inc:
  %inc = add nsw i32 %j.0, 1
  br label %for.cond1

cleanup:
  %s.2 = phi i32 [ %add, %if.then ], [ %s.1, %for.cond.cleanup3 ]
  br label %for.end

for.end:
  %and = and i32 %t, 8
  %tobool = icmp ne i32 %and, 0
  br i1 %tobool, label %if.then6, label %if.end15

if.then6:
  br label %for.cond8

for.cond8:
  %s.4 = phi i32 [ %s.2, %if.then6 ], [ %xor, %for.inc12 ]
  %j7.0 = phi i32 [ %n, %if.then6 ], [ %dec, %for.inc12 ]
  %cmp9 = icmp sgt i32 %j7.0, 0
  br i1 %cmp9, label %for.body11, label %for.cond.cleanup10

for.cond.cleanup10:
  br label %for.end14

for.body11:
  %xor = xor i32 %s.4, %j7.0
  br label %for.inc12

for.inc12:
  %dec = add nsw i32 %j7.0, -1
  br label %for.cond8

for.end14:
  br label %if.end15

if.end15:
  %s.3 = phi i32 [ %s.4, %for.end14 ], [ %s.2, %for.end ]
  br label %for.inc16

for.inc16:
  %inc17 = add nsw i32 %i.0, 1
  br label %for.cond

for.end19:
  ret i32 %s.0
}

define i32 @uniform_branch_inside(i32 %t, i32 %n) {
entry:
  br label %for.cond

for.cond:
  %s.0 = phi i32 [ 0, %entry ], [ %s.2, %for.inc ]
  %i.0 = phi i32 [ 0, %entry ], [ %inc, %for.inc ]
  %rem = srem i32 %t, 5
  %cmp = icmp slt i32 %i.0, %rem
  br i1 %cmp, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %for.end

for.body:
  %and = and i32 %n, 1
  %tobool = icmp ne i32 %and, 0
  br i1 %tobool, label %if.then, label %if.else

if.then:
  %add = add nsw i32 %s.0, %t
  %and1 = and i32 %i.0, %n
  %tobool2 = icmp ne i32 %and1, 0
  br i1 %tobool2, label %if.then3, label %if.end

if.then3:
  %add4 = add nsw i32 %add, 3
  br label %if.end

if.end:
  %s.1 = phi i32 [ %add4, %if.then3 ], [ %add, %if.then ]
  br label %if.end5

if.else:
  %sub = sub nsw i32 %s.0, %i.0
  br label %if.end5

if.end5:
  %s.2 = phi i32 [ %s.1, %if.end ], [ %sub, %if.else ]
  br label %for.inc

for.inc:
  %inc = add nsw i32 %i.0, 1
  br label %for.cond

for.end:
  ret i32 %s.0
}

define i32 @short_circuits(i32 %t, i32 %n) {
entry:
  %cmp = icmp sgt i32 %t, 3
  br i1 %cmp, label %land.lhs.true, label %lor.lhs.false

land.lhs.true:
  %rem = srem i32 %t, 4
  %cmp1 = icmp ne i32 %rem, 1
  br i1 %cmp1, label %if.then, label %lor.lhs.false

lor.lhs.false:
  %cmp2 = icmp sgt i32 %n, 2
  br i1 %cmp2, label %land.lhs.true3, label %if.end

land.lhs.true3:
  %and = and i32 %t, 1
  %tobool = icmp ne i32 %and, 0
  br i1 %tobool, label %if.then, label %if.end

if.then:
  br label %if.end

if.end:
  %r.0 = phi i32 [ 1, %if.then ], [ 0, %land.lhs.true3 ], [ 0, %lor.lhs.false ]
  %and4 = and i32 %t, 2
  %tobool5 = icmp ne i32 %and4, 0
  br i1 %tobool5, label %land.lhs.true6, label %if.then10

land.lhs.true6:
  %cmp7 = icmp eq i32 %n, 3
  br i1 %cmp7, label %if.end11, label %lor.lhs.false8

lor.lhs.false8:
  %cmp9 = icmp sgt i32 %t, 9
  br i1 %cmp9, label %if.end11, label %if.then10

if.then10:
  %add = add nsw i32 %r.0, 10
  br label %if.end11

if.end11:
  %r.1 = phi i32 [ %r.0, %land.lhs.true6 ], [ %r.0, %lor.lhs.false8 ], [ %add, %if.then10 ]
  br label %while.cond

while.cond:
  %r.2 = phi i32 [ %r.1, %if.end11 ], [ %add20, %while.body ]
  %cmp12 = icmp slt i32 %r.2, 60
  br i1 %cmp12, label %land.lhs.true13, label %land.end

land.lhs.true13:
  %add14 = add nsw i32 %t, %r.2
  %rem15 = srem i32 %add14, 9
  %cmp16 = icmp ne i32 %rem15, 4
  br i1 %cmp16, label %land.rhs, label %land.end

land.rhs:
  %tobool17 = icmp ne i32 %n, 0
  br label %land.end

land.end:
  %0 = phi i1 [ false, %land.lhs.true13 ], [ false, %while.cond ], [ %tobool17, %land.rhs ]
  br i1 %0, label %while.body, label %while.end

while.body:
  %rem18 = srem i32 %t, 5
  %add19 = add nsw i32 %rem18, 1
  %add20 = add nsw i32 %r.2, %add19
  br label %while.cond

while.end:
  ret i32 %r.2
}

define i32 @joins_by_goto(i32 %t, i32 %n) {
entry:
  %and = and i32 %t, 1
  %tobool = icmp ne i32 %and, 0
  br i1 %tobool, label %if.then, label %if.end

if.then:
  br label %b

if.end:
  %add = add nsw i32 %t, 7
  %cmp = icmp sgt i32 %n, 4
  br i1 %cmp, label %if.then1, label %if.end2

if.then1:
  br label %c

if.end2:
  br label %b

b:
  %s.0 = phi i32 [ %t, %if.then ], [ %add, %if.end2 ]
  %mul = mul nsw i32 %s.0, 2
  %and3 = and i32 %t, 4
  %tobool4 = icmp ne i32 %and3, 0
  br i1 %tobool4, label %if.then5, label %if.end6

if.then5:
  br label %d

if.end6:
  br label %c

c:
  %s.1 = phi i32 [ %mul, %if.end6 ], [ %add, %if.then1 ]
  %sub = sub nsw i32 %s.1, 3
  %and7 = and i32 %sub, 8
  %tobool8 = icmp ne i32 %and7, 0
  br i1 %tobool8, label %if.then9, label %if.end10

if.then9:
  br label %e

if.end10:
  br label %d

d:
  %s.2 = phi i32 [ %mul, %if.then5 ], [ %sub, %if.end10 ]
  %xor = xor i32 %s.2, 21
  br label %e

e:
  %s.3 = phi i32 [ %xor, %d ], [ %sub, %if.then9 ]
  ret i32 %s.3
}

define i32 @goto_out_of_branches(i32 %t, i32 %n) {
entry:
  br label %for.cond

for.cond:
  %s.0 = phi i32 [ 0, %entry ], [ %add8, %for.inc ]
  %i.0 = phi i32 [ 0, %entry ], [ %inc12, %for.inc ]
  %cmp = icmp slt i32 %i.0, %n
  br i1 %cmp, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br label %cleanup

for.body:
  %and = and i32 %t, 1
  %tobool = icmp ne i32 %and, 0
  br i1 %tobool, label %if.then, label %if.else

if.then:
  %add = add nsw i32 %s.0, 2
  %cmp1 = icmp sgt i32 %add, 6
  br i1 %cmp1, label %if.then2, label %if.end

if.then2:
  br label %low

if.end:
  %inc = add nsw i32 %add, 1
  br label %if.end7

if.else:
  %cmp3 = icmp eq i32 %i.0, 3
  br i1 %cmp3, label %if.then4, label %if.end5

if.then4:
  br label %cleanup

if.end5:
  %add6 = add nsw i32 %s.0, %t
  br label %low

low:
  %s.2 = phi i32 [ %add, %if.then2 ], [ %add6, %if.end5 ]
  %sub = sub nsw i32 %s.2, 1
  br label %if.end7

if.end7:
  %s.3 = phi i32 [ %sub, %low ], [ %inc, %if.end ]
  %add8 = add nsw i32 %s.3, 4
  %rem = srem i32 %add8, 10
  %cmp9 = icmp eq i32 %rem, 9
  br i1 %cmp9, label %if.then10, label %if.end11

if.then10:
  br label %cleanup

if.end11:
  br label %for.inc

for.inc:
  %inc12 = add nsw i32 %i.0, 1
  br label %for.cond

cleanup:
  %s.1 = phi i32 [ %add8, %if.then10 ], [ %s.0, %if.then4 ], [ %s.0, %for.cond.cleanup ]
  %cleanup.dest.slot.0 = phi i32 [ 2, %if.then10 ], [ 6, %if.then4 ], [ 2, %for.cond.cleanup ]
  switch i32 %cleanup.dest.slot.0, label %cleanup13 [
    i32 2, label %for.end
    i32 6, label %high
  ]

for.end:
  %mul = mul nsw i32 %s.1, 3
  br label %high

high:
  %s.4 = phi i32 [ %mul, %for.end ], [ %s.1, %cleanup ]
  br label %cleanup13

cleanup13:
  %retval.0 = phi i32 [ undef, %cleanup ], [ %s.4, %high ]
  ret i32 %retval.0
}

define i32 @no_thread_at_first(i32 %t, i32 %n) {
entry:
  br label %while.cond

while.cond:
  %s.0 = phi i32 [ 0, %entry ], [ %add, %while.body ]
  %sub = sub nsw i32 %t, 100
  %cmp = icmp slt i32 %s.0, %sub
  br i1 %cmp, label %while.body, label %while.end

while.body:
  %add = add nsw i32 %s.0, %n
  br label %while.cond

while.end:
  %tobool = icmp ne i32 %s.0, 0
  br i1 %tobool, label %if.then, label %if.end

if.then:
  br label %if.end

if.end:
  %s.1 = phi i32 [ -1, %if.then ], [ %s.0, %while.end ]
  %add1 = add nsw i32 %s.1, %t
  ret i32 %add1
}

define i32 @swaps(i32 %t) {
entry:
  br label %while.cond

while.cond:
  %b.0 = phi i32 [ 1, %entry ], [ %add1, %cleanup.cont ]
  %c.0 = phi i32 [ 2, %entry ], [ %sub, %cleanup.cont ]
  %a.0 = phi i32 [ %t, %entry ], [ %add, %cleanup.cont ]
  %cmp = icmp sgt i32 %a.0, %b.0
  br i1 %cmp, label %while.body, label %while.end

while.body:
  %add = add nsw i32 %c.0, %b.0
  %sub = sub nsw i32 %a.0, 2
  %add1 = add nsw i32 %b.0, 3
  %cmp2 = icmp slt i32 %sub, 0
  br i1 %cmp2, label %if.then, label %if.end

if.then:
  br label %cleanup

if.end:
  br label %cleanup

cleanup:
  %cleanup.dest.slot.0 = phi i32 [ 3, %if.then ], [ 0, %if.end ]
  switch i32 %cleanup.dest.slot.0, label %unreachable [
    i32 0, label %cleanup.cont
    i32 3, label %while.end
  ]

cleanup.cont:
  br label %while.cond

while.end:
  %b.1 = phi i32 [ %add1, %cleanup ], [ %b.0, %while.cond ]
  %c.1 = phi i32 [ %sub, %cleanup ], [ %c.0, %while.cond ]
  %a.1 = phi i32 [ %add, %cleanup ], [ %a.0, %while.cond ]
  %mul = mul nsw i32 %a.1, 100
  %mul3 = mul nsw i32 %b.1, 10
  %add4 = add nsw i32 %mul, %mul3
  %add5 = add nsw i32 %add4, %c.1
  ret i32 %add5

unreachable:
  unreachable
}
