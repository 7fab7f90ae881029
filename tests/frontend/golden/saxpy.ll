; ModuleID = 'weft'

define void @saxpy(double noundef %a, ptr noundef align 4 %x, i64 noundef range(i64 0, -9223372036854775808) %x.shape.0, ptr noundef align 4 %y, i64 noundef range(i64 0, -9223372036854775808) %y.shape.0) #0 !dbg !2 {
entry:
  %i = alloca i64
  br label %body

body:
  %0 = call i64 @weft.group.id(i32 0)
  %1 = call i64 @weft.local.size(i32 0)
  %2 = mul nuw nsw i64 %0, %1
  %3 = call i64 @weft.local.id(i32 0)
  %4 = add nuw nsw i64 %2, %3
  store i64 %4, ptr %i
  %5 = load i64, ptr %i
  %6 = icmp slt i64 %5, %x.shape.0
  br i1 %6, label %if.then, label %if.end

if.then:
  %7 = load i64, ptr %i
  %8 = getelementptr inbounds float, ptr %y, i64 %7
  %9 = load float, ptr %8, align 4
  %10 = load i64, ptr %i
  %11 = getelementptr inbounds float, ptr %x, i64 %10
  %12 = load float, ptr %11, align 4
  %13 = fptrunc double %a to float
  %14 = fmul float %13, %12
  %15 = fadd float %9, %14
  store float %15, ptr %8, align 4
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
