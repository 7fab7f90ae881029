; ModuleID = 'weft'

define void @reduce_tile(ptr noundef align 4 %x, i64 noundef range(i64 0, -9223372036854775808) %x.shape.0, ptr noundef align 4 %out, i64 noundef range(i64 0, -9223372036854775808) %out.shape.0) #0 !dbg !2 {
entry:
  %tile = alloca ptr addrspace(3)
  %t = alloca i64
  %step = alloca i64
  br label %body

body:
  %0 = call ptr addrspace(3) @weft.shared(i32 0)
  store ptr addrspace(3) %0, ptr %tile
  %1 = call i64 @weft.local.id(i32 0)
  store i64 %1, ptr %t
  %2 = call i64 @weft.group.id(i32 0)
  %3 = call i64 @weft.local.size(i32 0)
  %4 = mul nuw nsw i64 %2, %3
  %5 = call i64 @weft.local.id(i32 0)
  %6 = add nuw nsw i64 %4, %5
  %7 = getelementptr inbounds float, ptr %x, i64 %6
  %8 = load float, ptr %7, align 4
  %9 = load ptr addrspace(3), ptr %tile
  %10 = load i64, ptr %t
  %11 = getelementptr inbounds float, ptr addrspace(3) %9, i64 %10
  store float %8, ptr addrspace(3) %11, align 4
  call void @weft.barrier()
  %12 = call i64 @weft.local.size(i32 0)
  %13 = lshr i64 %12, 1
  store i64 %13, ptr %step
  br label %while.cond

while.cond:
  %14 = load i64, ptr %step
  %15 = icmp sgt i64 %14, 0
  br i1 %15, label %while.body, label %while.end

while.body:
  %16 = load i64, ptr %t
  %17 = load i64, ptr %step
  %18 = icmp slt i64 %16, %17
  br i1 %18, label %if.then, label %if.end

if.then:
  %19 = load ptr addrspace(3), ptr %tile
  %20 = load i64, ptr %t
  %21 = getelementptr inbounds float, ptr addrspace(3) %19, i64 %20
  %22 = load float, ptr addrspace(3) %21, align 4
  %23 = load ptr addrspace(3), ptr %tile
  %24 = load i64, ptr %t
  %25 = load i64, ptr %step
  %26 = add i64 %24, %25
  %27 = getelementptr inbounds float, ptr addrspace(3) %23, i64 %26
  %28 = load float, ptr addrspace(3) %27, align 4
  %29 = fadd float %22, %28
  store float %29, ptr addrspace(3) %21, align 4
  br label %if.end

if.end:
  call void @weft.barrier()
  %30 = load i64, ptr %step
  %31 = ashr i64 %30, 1
  store i64 %31, ptr %step
  br label %while.next

while.next:
  br label %while.cond

while.end:
  %32 = load i64, ptr %t
  %33 = icmp eq i64 %32, 0
  br i1 %33, label %if.then.1, label %if.end.1

if.then.1:
  %34 = load ptr addrspace(3), ptr %tile
  %35 = getelementptr inbounds float, ptr addrspace(3) %34, i64 0
  %36 = load float, ptr addrspace(3) %35, align 4
  %37 = getelementptr inbounds float, ptr %out, i64 0
  %38 = atomicrmw fadd ptr %37, float %36 monotonic
  br label %if.end.1

if.end.1:
  br label %exit

exit:
  ret void
}

declare ptr addrspace(3) @weft.shared(i32) #1

declare range(i64 0, 2147483648) i64 @weft.local.id(i32) #1

declare range(i64 0, 2147483648) i64 @weft.group.id(i32) #1

declare range(i64 1, 2147483648) i64 @weft.local.size(i32) #1

declare void @weft.barrier() #2


attributes #0 = { nounwind "weft.kernel" "weft.shared"="256:64" }
attributes #1 = { nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nounwind willreturn }
