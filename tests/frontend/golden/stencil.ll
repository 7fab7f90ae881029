; ModuleID = 'weft'

define void @stencil(ptr noundef align 4 %x, i64 noundef range(i64 0, -9223372036854775808) %x.shape.0, i64 noundef range(i64 0, -9223372036854775808) %x.shape.1, ptr noundef align 4 %y, i64 noundef range(i64 0, -9223372036854775808) %y.shape.0, i64 noundef range(i64 0, -9223372036854775808) %y.shape.1) #0 !dbg !2 {
entry:
  %row = alloca i64
  %column = alloca i64
  br label %body

body:
  %0 = call i64 @weft.group.id(i32 0)
  %1 = call i64 @weft.local.size(i32 0)
  %2 = mul nuw nsw i64 %0, %1
  %3 = call i64 @weft.local.id(i32 0)
  %4 = add nuw nsw i64 %2, %3
  %5 = call i64 @weft.group.id(i32 1)
  %6 = call i64 @weft.local.size(i32 1)
  %7 = mul nuw nsw i64 %5, %6
  %8 = call i64 @weft.local.id(i32 1)
  %9 = add nuw nsw i64 %7, %8
  store i64 %4, ptr %row
  store i64 %9, ptr %column
  %10 = load i64, ptr %row
  %11 = icmp slt i64 0, %10
  %12 = sub i64 %x.shape.0, 1
  %13 = icmp slt i64 %10, %12
  %14 = select i1 %11, i1 %13, i1 false
  %15 = load i64, ptr %column
  %16 = icmp sgt i64 %15, 0
  %17 = select i1 %14, i1 %16, i1 false
  %18 = load i64, ptr %column
  %19 = sub i64 %x.shape.1, 1
  %20 = icmp slt i64 %18, %19
  %21 = select i1 %17, i1 %20, i1 false
  br i1 %21, label %if.then, label %if.end

if.then:
  %22 = load i64, ptr %row
  %23 = sub i64 %22, 1
  %24 = load i64, ptr %column
  %25 = mul nuw nsw i64 %23, %x.shape.1
  %26 = add nuw nsw i64 %25, %24
  %27 = getelementptr inbounds float, ptr %x, i64 %26
  %28 = load float, ptr %27, align 4
  %29 = load i64, ptr %row
  %30 = load i64, ptr %column
  %31 = sub i64 %30, 1
  %32 = mul nuw nsw i64 %29, %x.shape.1
  %33 = add nuw nsw i64 %32, %31
  %34 = getelementptr inbounds float, ptr %x, i64 %33
  %35 = load float, ptr %34, align 4
  %36 = fadd float %28, %35
  %37 = load i64, ptr %row
  %38 = load i64, ptr %column
  %39 = mul nuw nsw i64 %37, %x.shape.1
  %40 = add nuw nsw i64 %39, %38
  %41 = getelementptr inbounds float, ptr %x, i64 %40
  %42 = load float, ptr %41, align 4
  %43 = fmul float 2.000000e+00, %42
  %44 = fsub float %36, %43
  %45 = load i64, ptr %row
  %46 = load i64, ptr %column
  %47 = mul nuw nsw i64 %45, %y.shape.1
  %48 = add nuw nsw i64 %47, %46
  %49 = getelementptr inbounds float, ptr %y, i64 %48
  store float %44, ptr %49, align 4
  br label %if.end

if.end:
  br label %exit

exit:
  ret void
}

declare range(i64 0, 2147483648) i64 @weft.group.id(i32) #1

declare range(i64 1, 2147483648) i64 @weft.local.size(i32) #1

declare range(i64 0, 2147483648) i64 @weft.local.id(i32) #1


attributes #0 = { nounwind "weft.kernel" }
attributes #1 = { nounwind speculatable willreturn memory(none) }
