; ModuleID = 'weft'

define void @blur(ptr noundef align 4 %x, i64 noundef range(i64 0, -9223372036854775808) %x.shape.0, ptr noundef align 4 %y, i64 noundef range(i64 0, -9223372036854775808) %y.shape.0, i64 noundef %radius) #0 !dbg !2 {
entry:
  %i = alloca i64
  %total = alloca float
  %k.counter = alloca i64
  %k = alloca i64
  br label %body

body:
  %0 = call i64 @weft.group.id(i32 0)
  %1 = call i64 @weft.local.size(i32 0)
  %2 = mul nuw nsw i64 %0, %1
  %3 = call i64 @weft.local.id(i32 0)
  %4 = add nuw nsw i64 %2, %3
  store i64 %4, ptr %i
  %5 = load i64, ptr %i
  %6 = icmp sge i64 %5, %x.shape.0
  br i1 %6, label %if.then, label %if.end

if.then:
  br label %exit

if.end:
  store float 0.000000e+00, ptr %total
  %7 = sub i64 0, %radius
  %8 = add i64 %radius, 1
  store i64 %7, ptr %k.counter
  br label %for.cond

for.cond:
  %9 = load i64, ptr %k.counter
  %10 = icmp slt i64 %9, %8
  br i1 %10, label %for.body, label %for.end

for.body:
  store i64 %9, ptr %k
  %11 = load float, ptr %total
  %12 = load i64, ptr %i
  %13 = load i64, ptr %k
  %14 = add i64 %12, %13
  %15 = icmp sgt i64 0, %14
  %16 = select i1 %15, i64 0, i64 %14
  %17 = sub i64 %x.shape.0, 1
  %18 = icmp slt i64 %17, %16
  %19 = select i1 %18, i64 %17, i64 %16
  %20 = icmp slt i64 %19, 0
  %21 = add nsw i64 %19, %x.shape.0
  %22 = select i1 %20, i64 %21, i64 %19
  %23 = getelementptr inbounds float, ptr %x, i64 %22
  %24 = load float, ptr %23, align 4
  %25 = fadd float %11, %24
  store float %25, ptr %total
  br label %for.inc

for.inc:
  %26 = load i64, ptr %k.counter
  %27 = add nsw i64 %26, 1
  store i64 %27, ptr %k.counter
  br label %for.cond

for.end:
  %28 = load float, ptr %total
  %29 = mul i64 2, %radius
  %30 = add i64 %29, 1
  %31 = sitofp i64 %30 to float
  %32 = fdiv float %28, %31
  %33 = load i64, ptr %i
  %34 = getelementptr inbounds float, ptr %y, i64 %33
  store float %32, ptr %34, align 4
  br label %exit

exit:
  ret void
}

declare range(i64 0, 2147483648) i64 @weft.group.id(i32) #1

declare range(i64 1, 2147483648) i64 @weft.local.size(i32) #1

declare range(i64 0, 2147483648) i64 @weft.local.id(i32) #1


attributes #0 = { nounwind "weft.kernel" }
attributes #1 = { nounwind speculatable willreturn memory(none) }
