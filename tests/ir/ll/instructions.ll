; Every instruction with every flag and property that clang's output leaves out.
source_filename = "instructions.ll"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

define i32 @integers(i32 %a, i32 %b) {
entry:
  %add = add nuw nsw i32 %a, %b
  %sub = sub nsw i32 %add, %b
  %mul = mul nuw i32 %sub, -7
  %ud = udiv exact i32 %mul, %b
  %sd = sdiv exact i32 %ud, %b
  %ur = urem i32 %sd, 3
  %sr = srem i32 %ur, %b
  %shl = shl nuw nsw i32 %sr, 3
  %lshr = lshr exact i32 %shl, 1
  %ashr = ashr exact i32 %lshr, 1
  %and = and i32 %ashr, 65535
  %or = or disjoint i32 %and, 65536
  %xor = xor i32 %or, -1
  %t = trunc nuw nsw i32 %xor to i8
  %z = zext nneg i8 %t to i64
  %s = sext i8 %t to i128
  %f = freeze i64 %z
  %back = trunc i64 %f to i32
  %eq = icmp samesign ult i32 %back, %a
  %r = select i1 %eq, i32 %back, i32 %a
  ret i32 %r
}

define float @floats(float %a, float %b, <4 x double> %v) {
  %1 = fadd fast float %a, %b
  %2 = fsub nnan ninf nsz float %1, 0x3FB99999A0000000
  %3 = fmul arcp contract afn reassoc float %2, %b
  %4 = fdiv float %3, 2.500000e-01
  %5 = frem nnan float %4, %a
  %6 = fneg nsz float %5
  %7 = fptrunc <4 x double> %v to <4 x float>
  %8 = fpext <4 x float> %7 to <4 x double>
  %9 = fpext fast float %6 to double
  %10 = fptoui double %9 to i16
  %11 = fptosi double %9 to i17
  %12 = uitofp nneg i16 %10 to float
  %13 = sitofp i17 %11 to float
  %14 = fcmp ninf ult float %12, %13
  %15 = select nnan i1 %14, float %12, float %13
  %16 = extractelement <4 x double> %8, i32 2
  %17 = fptrunc double %16 to bfloat
  %18 = fpext bfloat %17 to float
  %19 = bitcast <4 x double> %v to <8 x float>
  %20 = shufflevector <8 x float> %19, <8 x float> poison, <2 x i32> <i32 7, i32 poison>
  %21 = insertelement <2 x float> %20, float %18, i64 1
  %22 = extractelement <2 x float> %21, i8 0
  %23 = call reassoc float @llvm.vector.reduce.fadd.v2f32(float 0.000000e+00, <2 x float> %21)
  %24 = fadd float %22, %23
  ret float %24
}

define i1 @predicates(i32 %a, i32 %b, double %x, double %y, ptr %p) {
  %1 = icmp eq i32 %a, %b
  %2 = icmp ne ptr %p, null
  %3 = icmp ugt i32 %a, %b
  %4 = icmp uge i32 %a, %b
  %5 = icmp ule i32 %a, %b
  %6 = icmp sgt i32 %a, %b
  %7 = icmp sge i32 %a, %b
  %8 = icmp slt i32 %a, %b
  %9 = icmp sle i32 %a, %b
  %10 = fcmp false double %x, %y
  %11 = fcmp oeq double %x, %y
  %12 = fcmp ogt double %x, %y
  %13 = fcmp oge double %x, %y
  %14 = fcmp olt double %x, %y
  %15 = fcmp ole double %x, %y
  %16 = fcmp one double %x, %y
  %17 = fcmp ord double %x, %y
  %18 = fcmp ueq double %x, %y
  %19 = fcmp ugt double %x, %y
  %20 = fcmp uge double %x, %y
  %21 = fcmp ule double %x, %y
  %22 = fcmp une double %x, %y
  %23 = fcmp uno double %x, %y
  %24 = fcmp true double %x, %y
  ret i1 %24
}

define ptr @pointers(ptr %p, <4 x ptr> %ps, <4 x i64> %is, ptr addrspace(3) %shared, i64 %i) {
  %1 = getelementptr inbounds nuw { i32, [4 x i16] }, ptr %p, i64 %i, i32 1, i64 3
  %2 = getelementptr nusw i8, ptr %1, i64 %i
  %3 = getelementptr float, <4 x ptr> %ps, <4 x i64> %is
  %4 = getelementptr float, ptr %p, <4 x i64> %is
  %5 = icmp eq <4 x ptr> %3, %4
  %6 = ptrtoint ptr %2 to i64
  %7 = inttoptr i64 %6 to ptr addrspace(1)
  %8 = addrspacecast ptr addrspace(1) %7 to ptr
  %9 = getelementptr float, ptr addrspace(3) %shared, i32 3
  %10 = addrspacecast ptr addrspace(3) %9 to ptr
  %11 = ptrtoaddr ptr %10 to i64
  %12 = select i1 true, ptr %8, ptr %10
  ret ptr %12
}

define void @memory(ptr %p, ptr addrspace(1) %q, i32 %n) {
  %a = alloca i32, align 4
  %b = alloca [8 x i8], i32 %n, align 16
  %c = alloca inalloca { i32, i32 }, align 8
  %d = alloca i64, i64 4, align 8
  %l = load volatile i32, ptr %a, align 1
  store volatile i32 %l, ptr %p, align 1
  %m = load atomic i32, ptr %p syncscope("singlethread") monotonic, align 4
  store atomic i32 %m, ptr addrspace(1) %q syncscope("agent") release, align 4
  %u = load atomic volatile float, ptr %p unordered, align 8
  store atomic volatile ptr %p, ptr %d seq_cst, align 8
  %w = load <4 x float>, ptr %p, align 4, !nontemporal !0, !invariant.load !1
  %x = load i8, ptr %b, align 1, !range !2, !noundef !1, !llvm.access.group !3
  fence syncscope("singlethread") acquire
  fence acq_rel
  ret void
}

define void @atomics(ptr %p, float %f, <2 x half> %h) {
  %1 = atomicrmw volatile xchg ptr %p, i32 1 monotonic, align 4
  %2 = atomicrmw add ptr %p, i32 1 syncscope("agent") acquire, align 4
  %3 = atomicrmw sub ptr %p, i64 1 release, align 8
  %4 = atomicrmw and ptr %p, i8 1 acq_rel, align 1
  %5 = atomicrmw nand ptr %p, i16 1 seq_cst, align 2
  %6 = atomicrmw or ptr %p, i32 1 seq_cst, align 4
  %7 = atomicrmw xor ptr %p, i32 1 seq_cst, align 4
  %8 = atomicrmw max ptr %p, i32 1 seq_cst, align 4
  %9 = atomicrmw min ptr %p, i32 1 seq_cst, align 4
  %10 = atomicrmw umax ptr %p, i32 1 seq_cst, align 4
  %11 = atomicrmw umin ptr %p, i32 1 seq_cst, align 4
  %12 = atomicrmw fadd ptr %p, float %f seq_cst, align 4
  %13 = atomicrmw fsub ptr %p, float %f seq_cst, align 4
  %14 = atomicrmw fmax ptr %p, float %f seq_cst, align 4
  %15 = atomicrmw fmin ptr %p, float %f seq_cst, align 4
  %16 = atomicrmw fmaximum ptr %p, float %f seq_cst, align 4
  %17 = atomicrmw fminimum ptr %p, float %f seq_cst, align 4
  %18 = atomicrmw uinc_wrap ptr %p, i32 9 seq_cst, align 4
  %19 = atomicrmw udec_wrap ptr %p, i32 9 seq_cst, align 4
  %20 = atomicrmw usub_cond ptr %p, i32 9 seq_cst, align 4
  %21 = atomicrmw usub_sat ptr %p, i32 9 seq_cst, align 4
  %22 = atomicrmw fadd ptr %p, <2 x half> %h monotonic, align 4
  %23 = atomicrmw xchg ptr %p, ptr null monotonic, align 8
  %24 = cmpxchg weak volatile ptr %p, i32 0, i32 1 syncscope("agent") acq_rel monotonic, align 4
  %25 = cmpxchg ptr %p, ptr null, ptr %p seq_cst acquire, align 8
  %26 = extractvalue { i32, i1 } %24, 1
  ret void
}

define { i32, [2 x { i8, float }] } @aggregates({ i32, [2 x { i8, float }] } %a, float %f, <{ i8, i32 }> %packed) {
  %1 = extractvalue { i32, [2 x { i8, float }] } %a, 1, 0, 1
  %2 = insertvalue { i32, [2 x { i8, float }] } %a, float %f, 1, 1, 1
  %3 = insertvalue { i32, [2 x { i8, float }] } %2, [2 x { i8, float }] [{ i8, float } { i8 1, float 2.000000e+00 }, { i8, float } zeroinitializer], 1
  %4 = extractvalue <{ i8, i32 }> %packed, 1
  %5 = insertvalue { i32, [2 x { i8, float }] } %3, i32 %4, 0
  ret { i32, [2 x { i8, float }] } %5
}

define i32 @control(i32 %x, i1 %c) {
entry:
  br i1 %c, label %left, label %left

left:                                             ; preds = %entry, %entry
  %p = phi i32 [ 1, %entry ], [ 1, %entry ]
  switch i32 %x, label %"the end" [
    i32 0, label %"the end"
    i32 -1, label %other
    i32 7, label %other
  ]

other:
  %q = phi fast float [ 1.0, %left ], [ 2.0, %other ], [ 1.0, %left ]
  %big = fcmp ogt float %q, 3.0
  br i1 %big, label %dead, label %other

"the end":
  %r = phi i32 [ %p, %left ], [ %p, %left ]
  switch i32 %r, label %last []

last:
  ret i32 %r

dead:
  unreachable
}

declare float @llvm.vector.reduce.fadd.v2f32(float, <2 x float>)

!0 = !{i32 1}
!1 = !{}
!2 = !{i8 -128, i8 -1, i8 0, i8 2}
!3 = distinct !{}
