define double @sum(ptr %x, ptr %y, i32 %n) {
entry:
  %s.next.strip = alloca [256 x double], align 64
  %root.strip = alloca [256 x double], align 64
  %part.strip = alloca [256 x double], align 64
  %low.strip = alloca [256 x i8], align 64
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
  %place = phi i64 [ 0, %loop.begin ], [ %18, %latch.part0 ]
  %i.1 = phi i32 [ %i, %loop.begin ], [ %i.next, %latch.part0 ]
  %13 = icmp ult i64 %place, %length
  br i1 %13, label %body.part0, label %loop.part1.begin

body.part0:
  %at = sext i32 %i.1 to i64
  %from = getelementptr double, ptr %x, i64 %at
  %a = load double, ptr %from
  %root = call double @llvm.sqrt.f64(double %a)
  %14 = getelementptr inbounds double, ptr %root.strip, i64 %place
  store double %root, ptr %14, align 8
  %low = fcmp olt double %root, 2.000000e+00
  %15 = zext i1 %low to i8
  %16 = getelementptr inbounds i8, ptr %low.strip, i64 %place
  store i8 %15, ptr %16, align 1
  br i1 %low, label %some.part0, label %latch.part0

some.part0:
  %part = fdiv double %root, 3.000000e+00
  %17 = getelementptr inbounds double, ptr %part.strip, i64 %place
  store double %part, ptr %17, align 8
  br label %latch.part0

latch.part0:
  %i.next = add nsw i32 %i.1, 1
  %18 = add nuw nsw i64 %place, 1
  br label %loop.part0

loop.part1:
  %place.1 = phi i64 [ 0, %loop.part1.begin ], [ %26, %latch.part1 ]
  %s.3 = phi double [ %s.1, %loop.part1.begin ], [ %s.next, %latch.part1 ]
  %19 = icmp ult i64 %place.1, %length
  br i1 %19, label %body.part1, label %loop.part2.begin

body.part1:
  %20 = getelementptr inbounds i8, ptr %low.strip, i64 %place.1
  %21 = load i8, ptr %20, align 1
  %22 = trunc i8 %21 to i1
  br i1 %22, label %some.part1, label %latch.part1

some.part1:
  %23 = getelementptr inbounds double, ptr %part.strip, i64 %place.1
  %24 = load double, ptr %23, align 8
  %grown = fadd double %s.3, %24
  br label %latch.part1

latch.part1:
  %s.next = phi double [ %s.3, %body.part1 ], [ %grown, %some.part1 ]
  %25 = getelementptr inbounds double, ptr %s.next.strip, i64 %place.1
  store double %s.next, ptr %25, align 8
  %26 = add nuw nsw i64 %place.1, 1
  br label %loop.part1

loop.part2:
  %place.2 = phi i64 [ 0, %loop.part2.begin ], [ %32, %latch.part2 ]
  %i.2 = phi i32 [ %i, %loop.part2.begin ], [ %i.next.1, %latch.part2 ]
  %27 = icmp ult i64 %place.2, %length
  br i1 %27, label %body.part2, label %loop.end

body.part2:
  %at.1 = sext i32 %i.2 to i64
  %28 = getelementptr inbounds double, ptr %root.strip, i64 %place.2
  %29 = load double, ptr %28, align 8
  br label %latch.part2

latch.part2:
  %30 = getelementptr inbounds double, ptr %s.next.strip, i64 %place.2
  %31 = load double, ptr %30, align 8
  %to = getelementptr double, ptr %y, i64 %at.1
  %quotient = fdiv double %31, %29
  store double %quotient, ptr %to
  %i.next.1 = add nsw i32 %i.2, 1
  %32 = add nuw nsw i64 %place.2, 1
  br label %loop.part2
}
