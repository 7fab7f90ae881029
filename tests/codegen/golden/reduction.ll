entry:
  %t32 = trunc i64 %tid.x to i32
  %0 = insertelement <4 x i32> poison, i32 %t32, i64 0
  %1 = shufflevector <4 x i32> %0, <4 x i32> poison, <4 x i32> zeroinitializer
  %2 = add <4 x i32> %1, <i32 0, i32 1, i32 2, i32 3>
  %n32 = trunc i64 %n to i32
  %3 = insertelement <4 x i32> poison, i32 %n32, i64 0
  %4 = shufflevector <4 x i32> %3, <4 x i32> poison, <4 x i32> zeroinitializer
  %c = icmp slt <4 x i32> %2, %4
  br label %then

then:
  %p = getelementptr i32, ptr %in, i64 %tid.x
  %5 = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> %c, <4 x i32> poison)
  %l2 = xor <4 x i32> <i32 0, i32 1, i32 2, i32 3>, splat (i32 2)
  %6 = shufflevector <4 x i32> %5, <4 x i32> poison, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
  %7 = shufflevector <4 x i1> %c, <4 x i1> poison, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
  %8 = select <4 x i1> %7, <4 x i32> %6, <4 x i32> %5
  %v1 = add <4 x i32> %5, %8
  %l1 = xor <4 x i32> <i32 0, i32 1, i32 2, i32 3>, splat (i32 1)
  %9 = shufflevector <4 x i32> %v1, <4 x i32> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %10 = shufflevector <4 x i1> %c, <4 x i1> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %11 = select <4 x i1> %10, <4 x i32> %9, <4 x i32> %v1
  %v0 = add <4 x i32> %v1, %11
  %at = getelementptr i32, ptr %out, i64 %tid.x
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %v0, ptr align 4 %at, <4 x i1> %c)
  br label %exit

exit:
  ret void
}
