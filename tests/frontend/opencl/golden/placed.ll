%struct.R = type { float, i8, [2 x <2 x double>] }
@table = internal constant [2 x float] [float 1.000000e+00, float 2.000000e+00], align 4
@.str = internal unnamed_addr constant [3 x i8] c"%d\00", align 1
@printf.2 = private unnamed_addr constant [4 x i8] c"%su\00"
define void @k(ptr noundef align 4 %x, ptr noundef align 4 %c, i64 noundef range(i64 0, 2147483648) %l.offset, float noundef %v.0, float noundef %v.1, float noundef %v.2, ptr noundef align 16 %r, i8 noundef zeroext %n, ptr noundef %program.scope, i64 noundef %work.dim, i64 noundef %global.offset.x, i64 noundef %global.offset.y, i64 noundef %global.offset.z, i64 noundef %global.size.x, i64 noundef %global.size.y, i64 noundef %global.size.z, i64 noundef %num.groups.x, i64 noundef %num.groups.y, i64 noundef %num.groups.z, i64 noundef %enqueued.size.x, i64 noundef %enqueued.size.y, i64 noundef %enqueued.size.z, i64 noundef %first.group.x, i64 noundef %first.group.y, i64 noundef %first.group.z, i64 noundef %first.id.x, i64 noundef %first.id.y, i64 noundef %first.id.z) #0 {
entry:
  %printf = alloca [2 x i64], align 8
  %0 = call ptr addrspace(3) @weft.shared(i32 0)
  %1 = getelementptr inbounds i8, ptr %program.scope, i64 0
  %2 = call ptr addrspace(3) @weft.shared.dynamic()
  %3 = getelementptr inbounds i8, ptr addrspace(3) %2, i64 %l.offset
  %4 = insertelement <3 x float> poison, float %v.0, i64 0
  %5 = insertelement <3 x float> %4, float %v.1, i64 1
  %6 = insertelement <3 x float> %5, float %v.2, i64 2
  %r.copy = alloca %struct.R, align 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %r.copy, ptr align 16 %r, i64 48, i1 false)
  %p.addr.i = alloca ptr addrspace(3), align 8
  %x.addr = alloca ptr, align 8
  %c.addr = alloca ptr, align 8
  %l.addr = alloca ptr addrspace(3), align 8
  %v.addr = alloca <3 x float>, align 16
  %n.addr = alloca i8, align 1
  store ptr %x, ptr %x.addr, align 8
  store ptr %c, ptr %c.addr, align 8
  store ptr addrspace(3) %3, ptr %l.addr, align 8
  %extractVec = shufflevector <3 x float> %6, <3 x float> undef, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  store <4 x float> %extractVec, ptr %v.addr, align 16
  store i8 %n, ptr %n.addr, align 1
  %7 = load <3 x float>, ptr %v.addr, align 16
  %8 = extractelement <3 x float> %7, i64 1
  %conv = fpext float %8 to double
  %c1 = getelementptr inbounds nuw %struct.R, ptr %r.copy, i32 0, i32 2
  %arrayidx = getelementptr inbounds [2 x <2 x double>], ptr %c1, i64 0, i64 1
  %9 = load <2 x double>, ptr %arrayidx, align 16
  %10 = extractelement <2 x double> %9, i64 0
  %add = fadd double %conv, %10
  %11 = load i8, ptr %n.addr, align 1
  %conv2 = zext i8 %11 to i32
  %and = and i32 %conv2, 1
  %idxprom = sext i32 %and to i64
  %arrayidx3 = getelementptr inbounds [2 x float], ptr @table, i64 0, i64 %idxprom
  %12 = load float, ptr %arrayidx3, align 4
  %conv4 = fpext float %12 to double
  %add5 = fadd double %add, %conv4
  %13 = load ptr addrspace(3), ptr %l.addr, align 8
  %14 = load i8, ptr %n.addr, align 1
  %idxprom6 = zext i8 %14 to i64
  %arrayidx7 = getelementptr inbounds nuw float, ptr addrspace(3) %13, i64 %idxprom6
  %15 = load float, ptr addrspace(3) %arrayidx7, align 4
  %conv8 = fpext float %15 to double
  %add9 = fadd double %add5, %conv8
  %conv10 = fptrunc double %add9 to float
  %16 = call i64 @weft.local.id(i32 0)
  %arrayidx11 = getelementptr inbounds nuw [4 x float], ptr addrspace(3) %0, i64 0, i64 %16
  store float %conv10, ptr addrspace(3) %arrayidx11, align 4
  call void @llvm.lifetime.start.p0(ptr %p.addr.i)
  store ptr addrspace(3) %0, ptr %p.addr.i, align 8
  call void @weft.barrier()
  %17 = load ptr addrspace(3), ptr %p.addr.i, align 8
  %18 = load float, ptr addrspace(3) %17, align 4
  %mul.i = fmul float %18, 2.000000e+00
  call void @llvm.lifetime.end.p0(ptr %p.addr.i)
  %19 = load ptr, ptr %c.addr, align 8
  %arrayidx13 = getelementptr inbounds i32, ptr %19, i64 0
  %20 = load i32, ptr %arrayidx13, align 4
  %conv14 = sitofp i32 %20 to float
  %add15 = fadd float %mul.i, %conv14
  %21 = load i32, ptr %1, align 4
  %conv16 = sitofp i32 %21 to float
  %add17 = fadd float %add15, %conv16
  %22 = load ptr, ptr %x.addr, align 8
  %23 = call i64 @weft.group.id(i32 0)
  %24 = call i64 @weft.local.size(i32 0)
  %25 = mul nuw nsw i64 %23, %24
  %26 = call i64 @weft.local.id(i32 0)
  %27 = add nuw nsw i64 %25, %26
  %28 = add nsw i64 %first.id.x, %27
  %29 = trunc nuw nsw i64 %28 to i32
  %30 = zext nneg i32 %29 to i64
  %arrayidx19 = getelementptr inbounds nuw float, ptr %22, i64 %30
  store float %add17, ptr %arrayidx19, align 4
  %31 = load i8, ptr %n.addr, align 1
  %conv20 = zext i8 %31 to i32
  %32 = ptrtoint ptr @.str to i64
  %33 = zext i32 %conv20 to i64
  %34 = getelementptr inbounds i64, ptr %printf, i64 0
  store i64 %32, ptr %34, align 8
  %35 = getelementptr inbounds i64, ptr %printf, i64 1
  store i64 %33, ptr %35, align 8
  call void @weft.print(ptr @printf.2, ptr %printf)
  ret void
}
