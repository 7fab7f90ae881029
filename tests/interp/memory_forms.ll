; Bodies over an input and an output buffer: values in memory, vectors and aggregates (test_memory_forms.py).

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>)
declare i32 @llvm.vector.reduce.smax.v8i32(<8 x i32>)
declare i32 @llvm.vector.reduce.umin.v8i32(<8 x i32>)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
declare float @llvm.vector.reduce.fmax.v8f32(<8 x float>)
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, <8 x i1>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)
declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, <8 x i1>, <8 x i32>)
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, <8 x i1>)
declare <8 x i32> @llvm.masked.expandload.v8i32(ptr, <8 x i1>, <8 x i32>)
declare void @llvm.masked.compressstore.v8i32(<8 x i32>, ptr, <8 x i1>)
declare <8 x i32> @llvm.vector.reverse.v8i32(<8 x i32>)
declare <16 x i32> @llvm.vector.interleave2.v16i32(<8 x i32>, <8 x i32>)
declare { <4 x i32>, <4 x i32> } @llvm.vector.deinterleave2.v8i32(<8 x i32>)
declare <8 x i32> @llvm.vector.splice.v8i32(<8 x i32>, <8 x i32>, i32)
declare <8 x i32> @llvm.vector.insert.v8i32.v4i32(<8 x i32>, <4 x i32>, i64)
declare <4 x i32> @llvm.vector.extract.v4i32.v8i32(<8 x i32>, i64)
declare <8 x i1> @llvm.get.active.lane.mask.v8i1.i32(i32, i32)
declare <8 x i32> @llvm.stepvector.v8i32()
declare <8 x i32> @llvm.smax.v8i32(<8 x i32>, <8 x i32>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
%pair = type { i8, i32, [3 x i16], double }
%packed = type <{ i8, i32, i16 }>
@table = internal constant [4 x i32] [i32 10, i32 -20, i32 30, i32 40]
@text = internal constant [6 x i8] c"hello\00"
@records = internal global [2 x %pair] [%pair { i8 1, i32 2, [3 x i16] [i16 3, i16 4, i16 5], double 0.5 }, %pair zeroinitializer]
@pointer = internal global ptr getelementptr inbounds ([4 x i32], ptr @table, i64 0, i64 2)

define void @vector_arithmetic(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %s = add <8 x i32> %v, %w
  %r = mul <8 x i32> %s, %v
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @vector_shift_by_splat(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %r = ashr <8 x i32> %v, splat (i32 5)
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @vector_select_by_mask(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %m = icmp slt <8 x i32> %v, zeroinitializer
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %r = select <8 x i1> %m, <8 x i32> %v, <8 x i32> %w
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @vector_select_by_scalar(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %e = extractelement <8 x i32> %v, i32 0
  %c = icmp sgt i32 %e, 0
  %r = select i1 %c, <8 x i32> %v, <8 x i32> %w
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @vector_of_i1_in_memory(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %m = icmp slt <8 x i32> %v, zeroinitializer
  store <8 x i1> %m, ptr %out
  %b = load <8 x i1>, ptr %in
  %x = zext <8 x i1> %b to <8 x i32>
  %o = getelementptr i8, ptr %out, i64 4
  store <8 x i32> %x, ptr %o, align 4
  ret void
}

define void @vector_of_i4_in_memory(ptr %in, ptr %out) {
  %v = load <8 x i4>, ptr %in
  %r = add <8 x i4> %v, splat (i4 3)
  store <8 x i4> %r, ptr %out
  ret void
}

define void @mask_as_an_integer(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %m = icmp slt <8 x i32> %v, zeroinitializer
  %b = bitcast <8 x i1> %m to i8
  store i8 %b, ptr %out
  ret void
}

define void @integer_as_a_mask(ptr %in, ptr %out) {
  %b = load i8, ptr %in
  %m = bitcast i8 %b to <8 x i1>
  %r = sext <8 x i1> %m to <8 x i32>
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @bitcast_of_vectors(ptr %in, ptr %out) {
  %v = load <4 x i64>, ptr %in, align 8
  %r = bitcast <4 x i64> %v to <8 x i32>
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @bitcast_of_vector_to_double(ptr %in, ptr %out) {
  %v = load <2 x float>, ptr %in, align 4
  %d = bitcast <2 x float> %v to i64
  store i64 %d, ptr %out
  ret void
}

define void @shuffle_of_two_vectors(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %r = shufflevector <8 x i32> %v, <8 x i32> %w, <8 x i32> <i32 0, i32 9, i32 2, i32 15, i32 8, i32 7, i32 7, i32 1>
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @element_by_variable_index(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %b = load i8, ptr %in
  %k = and i8 %b, 7
  %e = extractelement <8 x i32> %v, i8 %k
  %r = insertelement <8 x i32> %v, i32 99, i8 %k
  store <8 x i32> %r, ptr %out, align 4
  %o = getelementptr i8, ptr %out, i64 32
  store i32 %e, ptr %o
  ret void
}

define void @splat_by_shuffle(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %r = shufflevector <8 x i32> %v, <8 x i32> poison, <8 x i32> zeroinitializer
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @odd_integers(ptr %in, ptr %out) {
  %v = load i24, ptr %in, align 1
  %x = mul i24 %v, 5
  store i24 %x, ptr %out, align 1
  %o = getelementptr i8, ptr %out, i64 8
  %w = sext i24 %x to i64
  store i64 %w, ptr %o
  ret void
}

define void @wide_integers(ptr %in, ptr %out) {
  %v = load i128, ptr %in, align 8
  %s = lshr i128 %v, 13
  %m = mul i128 %s, %v
  %x = sub i128 %m, 77
  store i128 %x, ptr %out, align 8
  ret void
}

define void @wide_signed_division(ptr %in, ptr %out) {
  %v = load i128, ptr %in, align 8
  %d = sdiv i128 %v, -1234567
  %m = srem i128 %v, 991
  %c = icmp slt i128 %d, %m
  %r = select i1 %c, i128 %d, i128 %m
  store i128 %r, ptr %out, align 8
  %o = getelementptr i8, ptr %out, i64 16
  store i128 %d, ptr %o, align 8
  ret void
}

define void @wide_product_of_words(ptr %in, ptr %out) {
  %a = load i64, ptr %in
  %p = getelementptr i64, ptr %in, i64 1
  %b = load i64, ptr %p
  %wa = zext i64 %a to i128
  %wb = sext i64 %b to i128
  %m = mul i128 %wa, %wb
  %h = lshr i128 %m, 64
  %t = trunc i128 %h to i64
  store i64 %t, ptr %out
  ret void
}

define void @booleans(ptr %in, ptr %out) {
  %a = load i32, ptr %in
  %c = icmp slt i32 %a, 0
  store i1 %c, ptr %out
  %d = load i1, ptr %out
  %z = zext i1 %d to i16
  %o = getelementptr i8, ptr %out, i64 2
  store i16 %z, ptr %o
  ret void
}

define void @struct_members(ptr %in, ptr %out) {
  %p = getelementptr %pair, ptr %in, i64 1, i32 2, i64 1
  %v = load i16, ptr %p
  %q = getelementptr inbounds %pair, ptr %out, i64 0, i32 3
  %d = sitofp i16 %v to double
  store double %d, ptr %q
  ret void
}

define void @packed_struct(ptr %in, ptr %out) {
  %p = getelementptr %packed, ptr %in, i64 2, i32 1
  %v = load i32, ptr %p, align 1
  store i32 %v, ptr %out
  ret void
}

define void @first_class_struct(ptr %in, ptr %out) {
  %v = load %pair, ptr %in
  %d = extractvalue %pair %v, 2, 1
  %w = insertvalue %pair %v, i16 %d, 2, 2
  %e = extractvalue %pair %w, 2
  %f = extractvalue [3 x i16] %e, 2
  store i16 %f, ptr %out
  %g = extractvalue %pair %w, 3
  %o = getelementptr i8, ptr %out, i64 8
  store double %g, ptr %o
  ret void
}

define void @first_class_array(ptr %in, ptr %out) {
  %v = load [4 x i32], ptr %in
  %e = extractvalue [4 x i32] %v, 3
  %w = insertvalue [4 x i32] %v, i32 %e, 0
  store [4 x i32] %w, ptr %out
  ret void
}

define void @negative_index(ptr %in, ptr %out) {
  %p = getelementptr i32, ptr %in, i64 10
  %q = getelementptr i32, ptr %p, i8 -3
  %v = load i32, ptr %q
  store i32 %v, ptr %out
  ret void
}

define void @vector_of_pointers(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %i = and <8 x i32> %v, splat (i32 15)
  %p = getelementptr i32, ptr %in, <8 x i32> %i
  %r = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %p, <8 x i1> splat (i1 true), <8 x i32> poison)
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @constant_table(ptr %in, ptr %out) {
  %b = load i8, ptr %in
  %k = and i8 %b, 3
  %p = getelementptr [4 x i32], ptr @table, i64 0, i8 %k
  %v = load i32, ptr %p
  store i32 %v, ptr %out
  ret void
}

define void @global_string(ptr %in, ptr %out) {
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr @text, i64 6, i1 false)
  ret void
}

define void @global_records(ptr %in, ptr %out) {
  %p = getelementptr %pair, ptr @records, i64 0, i32 2, i64 2
  %v = load i16, ptr %p
  store i16 %v, ptr %out
  %q = getelementptr %pair, ptr @records, i64 1, i32 1
  %old = load i32, ptr %q
  %new = add i32 %old, 0
  store i32 %new, ptr %q
  %o = getelementptr i8, ptr %out, i64 4
  store i32 %new, ptr %o
  ret void
}

define void @pointer_in_a_global(ptr %in, ptr %out) {
  %p = load ptr, ptr @pointer
  %v = load i32, ptr %p
  store i32 %v, ptr %out
  ret void
}

define void @overlapping_move(ptr %in, ptr %out) {
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %in, i64 64, i1 false)
  %p = getelementptr i8, ptr %out, i64 5
  call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %out, i64 40, i1 false)
  ret void
}

define void @fill(ptr %in, ptr %out) {
  %b = load i8, ptr %in
  call void @llvm.memset.p0.i64(ptr %out, i8 %b, i64 37, i1 false)
  ret void
}

define void @unaligned_access(ptr %in, ptr %out) {
  %p = getelementptr i8, ptr %in, i64 3
  %v = load i64, ptr %p, align 1
  %o = getelementptr i8, ptr %out, i64 5
  store i64 %v, ptr %o, align 1
  ret void
}

define void @reductions(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %a = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %v)
  %b = call i32 @llvm.vector.reduce.smax.v8i32(<8 x i32> %v)
  %c = call i32 @llvm.vector.reduce.umin.v8i32(<8 x i32> %v)
  %x = insertelement <8 x i32> zeroinitializer, i32 %a, i32 0
  %y = insertelement <8 x i32> %x, i32 %b, i32 1
  %r = insertelement <8 x i32> %y, i32 %c, i32 2
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @any_of_a_mask(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %m = icmp slt <8 x i32> %v, zeroinitializer
  %a = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %m)
  store i1 %a, ptr %out
  ret void
}

define void @float_reductions(ptr %in, ptr %out) {
  %v = load <8 x i8>, ptr %in, align 1
  %f = sitofp <8 x i8> %v to <8 x float>
  %g = fdiv <8 x float> %f, splat (float 3.0)
  %a = call float @llvm.vector.reduce.fadd.v8f32(float 1.0, <8 x float> %g)
  store float %a, ptr %out
  %b = call float @llvm.vector.reduce.fmax.v8f32(<8 x float> %g)
  %o = getelementptr i8, ptr %out, i64 4
  store float %b, ptr %o
  ret void
}

define void @masked_load_and_store(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %m = icmp slt <8 x i32> %v, zeroinitializer
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %r = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %q, <8 x i1> %m, <8 x i32> %v)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %r, ptr align 4 %out, <8 x i1> %m)
  ret void
}

define void @scatter(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %m = icmp slt <8 x i32> %v, zeroinitializer
  %i = and <8 x i32> %v, splat (i32 15)
  %p = getelementptr i32, ptr %out, <8 x i32> %i
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v, <8 x ptr> align 4 %p, <8 x i1> %m)
  ret void
}

define void @expand_and_compress(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %m = icmp slt <8 x i32> %v, zeroinitializer
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %r = call <8 x i32> @llvm.masked.expandload.v8i32(ptr align 4 %q, <8 x i1> %m, <8 x i32> %v)
  store <8 x i32> %r, ptr %out, align 4
  %o = getelementptr i8, ptr %out, i64 32
  call void @llvm.masked.compressstore.v8i32(<8 x i32> %w, ptr align 4 %o, <8 x i1> %m)
  ret void
}

define void @reverse_and_splice(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %x = call <8 x i32> @llvm.vector.reverse.v8i32(<8 x i32> %v)
  %r = call <8 x i32> @llvm.vector.splice.v8i32(<8 x i32> %x, <8 x i32> %w, i32 -3)
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @interleave(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %x = call <16 x i32> @llvm.vector.interleave2.v16i32(<8 x i32> %v, <8 x i32> %w)
  store <16 x i32> %x, ptr %out, align 4
  ret void
}

define void @deinterleave(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %x = call { <4 x i32>, <4 x i32> } @llvm.vector.deinterleave2.v8i32(<8 x i32> %v)
  %e = extractvalue { <4 x i32>, <4 x i32> } %x, 1
  store <4 x i32> %e, ptr %out, align 4
  ret void
}

define void @subvectors(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %x = call <4 x i32> @llvm.vector.extract.v4i32.v8i32(<8 x i32> %v, i64 4)
  %r = call <8 x i32> @llvm.vector.insert.v8i32.v4i32(<8 x i32> %w, <4 x i32> %x, i64 0)
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @lane_mask(ptr %in, ptr %out) {
  %m = call <8 x i1> @llvm.get.active.lane.mask.v8i1.i32(i32 5, i32 9)
  %s = call <8 x i32> @llvm.stepvector.v8i32()
  %z = zext <8 x i1> %m to <8 x i32>
  %r = mul <8 x i32> %z, %s
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @vector_intrinsic(ptr %in, ptr %out) {
  %v = load <8 x i32>, ptr %in, align 4
  %q = getelementptr i8, ptr %in, i64 64
  %w = load <8 x i32>, ptr %q, align 4
  %r = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %v, <8 x i32> %w)
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @vector_fma(ptr %in, ptr %out) {
  %v = load <8 x i16>, ptr %in, align 2
  %f = sitofp <8 x i16> %v to <8 x float>
  %g = fdiv <8 x float> %f, splat (float 7.0)
  %r = call <8 x float> @llvm.fma.v8f32(<8 x float> %g, <8 x float> %g, <8 x float> %f)
  store <8 x float> %r, ptr %out, align 4
  ret void
}

define void @address_arithmetic(ptr %in, ptr %out) {
  %i = ptrtoint ptr %in to i64
  %j = add i64 %i, 12
  %p = inttoptr i64 %j to ptr
  %v = load i32, ptr %p
  store i32 %v, ptr %out
  ret void
}

define void @stack_objects(ptr %in, ptr %out) {
  %m = alloca [8 x i32], align 16
  store <8 x i32> zeroinitializer, ptr %m, align 16
  %b = load i8, ptr %in
  %k = and i8 %b, 7
  %z = zext i8 %k to i64
  %p = getelementptr i32, ptr %m, i64 %z
  store i32 77, ptr %p
  %r = load <8 x i32>, ptr %m, align 16
  store <8 x i32> %r, ptr %out, align 4
  ret void
}

define void @atomics(ptr %in, ptr %out) {
  %v = load i32, ptr %in
  store i32 %v, ptr %out
  %o0 = atomicrmw add ptr %out, i32 5 seq_cst
  %p0 = getelementptr i32, ptr %out, i64 1
  store i32 %o0, ptr %p0
  %o1 = atomicrmw sub ptr %out, i32 9 seq_cst
  %p1 = getelementptr i32, ptr %out, i64 2
  store i32 %o1, ptr %p1
  %o2 = atomicrmw and ptr %out, i32 65535 seq_cst
  %p2 = getelementptr i32, ptr %out, i64 3
  store i32 %o2, ptr %p2
  %o3 = atomicrmw or ptr %out, i32 768 seq_cst
  %p3 = getelementptr i32, ptr %out, i64 4
  store i32 %o3, ptr %p3
  %o4 = atomicrmw xor ptr %out, i32 -1 seq_cst
  %p4 = getelementptr i32, ptr %out, i64 5
  store i32 %o4, ptr %p4
  %o5 = atomicrmw nand ptr %out, i32 12345 seq_cst
  %p5 = getelementptr i32, ptr %out, i64 6
  store i32 %o5, ptr %p5
  %o6 = atomicrmw max ptr %out, i32 7 seq_cst
  %p6 = getelementptr i32, ptr %out, i64 7
  store i32 %o6, ptr %p6
  %o7 = atomicrmw min ptr %out, i32 -7 seq_cst
  %p7 = getelementptr i32, ptr %out, i64 8
  store i32 %o7, ptr %p7
  %o8 = atomicrmw umax ptr %out, i32 99 seq_cst
  %p8 = getelementptr i32, ptr %out, i64 9
  store i32 %o8, ptr %p8
  %o9 = atomicrmw umin ptr %out, i32 1000 seq_cst
  %p9 = getelementptr i32, ptr %out, i64 10
  store i32 %o9, ptr %p9
  %o10 = atomicrmw uinc_wrap ptr %out, i32 3 seq_cst
  %p10 = getelementptr i32, ptr %out, i64 11
  store i32 %o10, ptr %p10
  %o11 = atomicrmw udec_wrap ptr %out, i32 5 seq_cst
  %p11 = getelementptr i32, ptr %out, i64 12
  store i32 %o11, ptr %p11
  %o12 = atomicrmw xchg ptr %out, i32 4 seq_cst
  %p12 = getelementptr i32, ptr %out, i64 13
  store i32 %o12, ptr %p12
  %o13 = atomicrmw usub_sat ptr %out, i32 9 seq_cst
  %p13 = getelementptr i32, ptr %out, i64 14
  store i32 %o13, ptr %p13
  %o14 = atomicrmw usub_cond ptr %out, i32 2 seq_cst
  %p14 = getelementptr i32, ptr %out, i64 15
  store i32 %o14, ptr %p14
  ret void
}

define void @float_atomics(ptr %in, ptr %out) {
  store double 1.5, ptr %out
  %a = atomicrmw fadd ptr %out, double 0.25 seq_cst
  %b = atomicrmw fsub ptr %out, double 8.0 seq_cst
  %c = atomicrmw fmax ptr %out, double 2.0 seq_cst
  %d = atomicrmw fmin ptr %out, double -2.0 seq_cst
  %o = getelementptr double, ptr %out, i64 1
  store double %c, ptr %o
  ret void
}

define void @compare_and_exchange(ptr %in, ptr %out) {
  %v = load i32, ptr %in
  store i32 %v, ptr %out
  %x = cmpxchg ptr %out, i32 %v, i32 5 seq_cst monotonic
  %y = cmpxchg ptr %out, i32 6, i32 7 seq_cst monotonic
  %s = extractvalue { i32, i1 } %x, 1
  %f = extractvalue { i32, i1 } %y, 1
  %c = extractvalue { i32, i1 } %y, 0
  %o1 = getelementptr i8, ptr %out, i64 4
  store i1 %s, ptr %o1
  %o2 = getelementptr i8, ptr %out, i64 5
  store i1 %f, ptr %o2
  %o3 = getelementptr i8, ptr %out, i64 8
  store i32 %c, ptr %o3
  ret void
}
