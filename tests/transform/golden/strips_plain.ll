define double @sum(ptr %x, ptr %y, i32 %n) {
entry:
  %s.next.strip = alloca [256 x double], align 64
  %root.strip = alloca [256 x double], align 64
  %0 = sub i32 %n, 0
  %1 = icmp sge i32 0, %n
  %2 = sub i32 %0, 1
  %3 = zext i32 %2 to i64
  %4 = add i64 %3, 1
  %5 = select i1 %1, i64 0, i64 %4
  br label %loop.strips

loop.end:
  %6 = trunc i64 %length to i32
  %7 = mul i32 %6, 1
  %8 = add i32 %i, %7
  %9 = add i64 %first, %length
  br label %loop.strips

loop.part2.begin:
  %s = phi double [ %s.3, %loop.part1 ]
  br label %loop.part2

loop.part1.begin:
  br label %loop.part1

loop.begin:
  %10 = sub i64 %5, %first
  %11 = icmp ult i64 %10, 256
  %length = select i1 %11, i64 %10, i64 256
  br label %loop.part0

loop.strips:
  %first = phi i64 [ 0, %entry ], [ %9, %loop.end ]
  %i = phi i32 [ 0, %entry ], [ %8, %loop.end ]
  %s.1 = phi double [ 1.000000e+00, %entry ], [ %s, %loop.end ]
  %12 = icmp ult i64 %first, %5
  br i1 %12, label %loop.begin, label %exit

exit:
  %s.2 = phi double [ %s.1, %loop.strips ]
  ret double %s.2

loop.part0:
  %place = phi i64 [ 0, %loop.begin ], [ %15, %body.part0 ]
  %i.1 = phi i32 [ %i, %loop.begin ], [ %i.next, %body.part0 ]
  %13 = icmp ult i64 %place, %length
  br i1 %13, label %body.part0, label %loop.part1.begin

body.part0:
  %at = sext i32 %i.1 to i64
  %from = getelementptr double, ptr %x, i64 %at
  %a = load double, ptr %from
  %root = call double @llvm.sqrt.f64(double %a)
  %14 = getelementptr inbounds double, ptr %root.strip, i64 %place
  store double %root, ptr %14, align 8
  %i.next = add nsw i32 %i.1, 1
  %15 = add nuw nsw i64 %place, 1
  br label %loop.part0

loop.part1:
  %place.1 = phi i64 [ 0, %loop.part1.begin ], [ %20, %body.part1 ]
  %s.3 = phi double [ %s.1, %loop.part1.begin ], [ %s.next, %body.part1 ]
  %16 = icmp ult i64 %place.1, %length
  br i1 %16, label %body.part1, label %loop.part2.begin

body.part1:
  %17 = getelementptr inbounds double, ptr %root.strip, i64 %place.1
  %18 = load double, ptr %17, align 8
  %half = fmul double %s.3, 5.000000e-01
  %s.next = fadd double %half, %18
  %19 = getelementptr inbounds double, ptr %s.next.strip, i64 %place.1
  store double %s.next, ptr %19, align 8
  %20 = add nuw nsw i64 %place.1, 1
  br label %loop.part1

loop.part2:
  %place.2 = phi i64 [ 0, %loop.part2.begin ], [ %26, %body.part2 ]
  %i.2 = phi i32 [ %i, %loop.part2.begin ], [ %i.next.1, %body.part2 ]
  %21 = icmp ult i64 %place.2, %length
  br i1 %21, label %body.part2, label %loop.end

body.part2:
  %at.1 = sext i32 %i.2 to i64
  %22 = getelementptr inbounds double, ptr %root.strip, i64 %place.2
  %23 = load double, ptr %22, align 8
  %24 = getelementptr inbounds double, ptr %s.next.strip, i64 %place.2
  %25 = load double, ptr %24, align 8
  %quotient = fdiv double %23, %25
  %to = getelementptr double, ptr %y, i64 %at.1
  store double %quotient, ptr %to
  %i.next.1 = add nsw i32 %i.2, 1
  %26 = add nuw nsw i64 %place.2, 1
  br label %loop.part2
}
