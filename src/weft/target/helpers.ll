; What LLVM's code generator calls where the processor has no instruction: conversions of half and bfloat, and division
; and conversions of 128-bit integers. Compiler runtimes have them too, but not every one of every age has all, and some
; take halves as integers. Halves and bfloats are bits here, so that no function of these needs another.

; --- Rounding to fewer bits, to nearest even.

; The bits of a double as a float's, inexact ones to the odd neighbour: rounding once more gives what rounding at once does.
define internal i32 @odd_float_of_double(double %x) {
  %near = fptrunc double %x to float
  %bits = bitcast float %near to i32
  %back = fpext float %near to double
  %same = fcmp ueq double %back, %x
  %even = trunc i32 %bits to i1
  %keep = or i1 %same, %even
  %found = call double @llvm.fabs.f64(double %back)
  %wanted = call double @llvm.fabs.f64(double %x)
  %below = fcmp olt double %found, %wanted
  %step = select i1 %below, i32 1, i32 -1
  %odd = add i32 %bits, %step
  %result = select i1 %keep, i32 %bits, i32 %odd
  ret i32 %result
}

define internal i32 @odd_float_of_extended(x86_fp80 %x) {
  %near = fptrunc x86_fp80 %x to float
  %bits = bitcast float %near to i32
  %back = fpext float %near to x86_fp80
  %same = fcmp ueq x86_fp80 %back, %x
  %even = trunc i32 %bits to i1
  %keep = or i1 %same, %even
  %found = call x86_fp80 @llvm.fabs.f80(x86_fp80 %back)
  %wanted = call x86_fp80 @llvm.fabs.f80(x86_fp80 %x)
  %below = fcmp olt x86_fp80 %found, %wanted
  %step = select i1 %below, i32 1, i32 -1
  %odd = add i32 %bits, %step
  %result = select i1 %keep, i32 %bits, i32 %odd
  ret i32 %result
}

define internal i16 @bfloat_of_bits(i32 %bits) {
  %high = lshr i32 %bits, 16
  %last = and i32 %high, 1
  %half = add i32 %last, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %magnitude = and i32 %bits, 2147483647
  %nan = icmp ugt i32 %magnitude, 2139095040
  %result = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %result to i16
  ret i16 %short
}

define internal i16 @half_of_bits(i32 %bits) {
entry:
  %sign = lshr i32 %bits, 16
  %sign.bit = and i32 %sign, 32768
  %magnitude = and i32 %bits, 2147483647
  %nan = icmp ugt i32 %magnitude, 2139095040
  br i1 %nan, label %quiet, label %number
quiet:
  %payload = lshr i32 %magnitude, 13
  %payload.bits = and i32 %payload, 1023
  %quieted = or i32 %payload.bits, 32256
  br label %done
number:
  %large = icmp uge i32 %magnitude, 1199570944
  br i1 %large, label %done, label %finite
finite:
  %small = icmp ult i32 %magnitude, 947912704
  br i1 %small, label %subnormal, label %normal
normal:
  %shifted = lshr i32 %magnitude, 13
  %last = and i32 %shifted, 1
  %half = add i32 %last, 4095
  %biased = sub i32 %magnitude, 939524096
  %sum = add i32 %biased, %half
  %rounded = lshr i32 %sum, 13
  br label %done
subnormal:
  ; Beside a half the last bit of a float is that of the smallest half.
  %value = bitcast i32 %magnitude to float
  %placed = fadd float %value, 0.5
  %placed.bits = bitcast float %placed to i32
  %units = sub i32 %placed.bits, 1056964608
  br label %done
done:
  %found = phi i32 [ %quieted, %quiet ], [ 31744, %number ], [ %rounded, %normal ], [ %units, %subnormal ]
  %result = or i32 %found, %sign.bit
  %short = trunc i32 %result to i16
  ret i16 %short
}

define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %short = call i16 @bfloat_of_bits(i32 %bits)
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}

define bfloat @__truncdfbf2(double %x) {
  %bits = call i32 @odd_float_of_double(double %x)
  %short = call i16 @bfloat_of_bits(i32 %bits)
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}

define bfloat @__truncxfbf2(x86_fp80 %x) {
  %bits = call i32 @odd_float_of_extended(x86_fp80 %x)
  %short = call i16 @bfloat_of_bits(i32 %bits)
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}

define half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %short = call i16 @half_of_bits(i32 %bits)
  %result = bitcast i16 %short to half
  ret half %result
}

define half @__truncdfhf2(double %x) {
  %bits = call i32 @odd_float_of_double(double %x)
  %short = call i16 @half_of_bits(i32 %bits)
  %result = bitcast i16 %short to half
  ret half %result
}

define half @__truncxfhf2(x86_fp80 %x) {
  %bits = call i32 @odd_float_of_extended(x86_fp80 %x)
  %short = call i16 @half_of_bits(i32 %bits)
  %result = bitcast i16 %short to half
  ret half %result
}

define internal float @float_of_half(i16 %half) {
  %bits = zext i16 %half to i32
  %sign = and i32 %bits, 32768
  %sign.bit = shl i32 %sign, 16
  %magnitude = and i32 %bits, 32767
  %shifted = shl i32 %magnitude, 13
  %normal = add i32 %shifted, 939524096
  %special = add i32 %shifted, 1879048192
  %quiet = or i32 %special, 4194304
  %units = uitofp i32 %magnitude to float
  %value = fmul float %units, 0x3E70000000000000
  %subnormal = bitcast float %value to i32
  %is.small = icmp ult i32 %magnitude, 1024
  %is.special = icmp uge i32 %magnitude, 31744
  %is.nan = icmp ugt i32 %magnitude, 31744
  %a = select i1 %is.small, i32 %subnormal, i32 %normal
  %b = select i1 %is.special, i32 %special, i32 %a
  %c = select i1 %is.nan, i32 %quiet, i32 %b
  %d = or i32 %c, %sign.bit
  %result = bitcast i32 %d to float
  ret float %result
}

define float @__extendhfsf2(half %x) {
  %bits = bitcast half %x to i16
  %result = call float @float_of_half(i16 %bits)
  ret float %result
}

define x86_fp80 @__extendhfxf2(half %x) {
  %bits = bitcast half %x to i16
  %value = call float @float_of_half(i16 %bits)
  %result = fpext float %value to x86_fp80
  ret x86_fp80 %result
}

; --- Division of 128-bit integers.

; A digit of 32 bits: the quotient of the rest, followed by another digit, and a divisor whose highest bit is set.
define internal i64 @digit(i64 %rest, i64 %next, i64 %by) {
entry:
  %high = lshr i64 %by, 32
  %low = and i64 %by, 4294967295
  %first = udiv i64 %rest, %high
  %over = urem i64 %rest, %high
  br label %look
look:
  %guess = phi i64 [ %first, %entry ], [ %less, %correct ]
  %left = phi i64 [ %over, %entry ], [ %more, %correct ]
  %product = mul i64 %guess, %low
  %begin = shl i64 %left, 32
  %there = or i64 %begin, %next
  %wide = icmp ugt i64 %guess, 4294967295
  %great = icmp ugt i64 %product, %there
  %wrong = or i1 %wide, %great
  br i1 %wrong, label %correct, label %done
correct:
  %less = sub i64 %guess, 1
  %more = add i64 %left, %high
  %enough = icmp ugt i64 %more, 4294967295
  br i1 %enough, label %done, label %look
done:
  %result = phi i64 [ %guess, %look ], [ %less, %correct ]
  ret i64 %result
}

; Quotient and remainder of %high * 2^64 + %low, where %high is less than the divisor.
define internal { i64, i64 } @divide_two(i64 %high, i64 %low, i64 %by) {
  %shift = call i64 @llvm.ctlz.i64(i64 %by, i1 false)
  %divisor = shl i64 %by, %shift
  %top = call i64 @llvm.fshl.i64(i64 %high, i64 %low, i64 %shift)
  %bottom = shl i64 %low, %shift
  %next1 = lshr i64 %bottom, 32
  %digit1 = call i64 @digit(i64 %top, i64 %next1, i64 %divisor)
  %begin1 = shl i64 %top, 32
  %there1 = or i64 %begin1, %next1
  %product1 = mul i64 %digit1, %divisor
  %rest1 = sub i64 %there1, %product1
  %next0 = and i64 %bottom, 4294967295
  %digit0 = call i64 @digit(i64 %rest1, i64 %next0, i64 %divisor)
  %begin0 = shl i64 %rest1, 32
  %there0 = or i64 %begin0, %next0
  %product0 = mul i64 %digit0, %divisor
  %rest0 = sub i64 %there0, %product0
  %upper = shl i64 %digit1, 32
  %quotient = or i64 %upper, %digit0
  %remainder = lshr i64 %rest0, %shift
  %a = insertvalue { i64, i64 } poison, i64 %quotient, 0
  %b = insertvalue { i64, i64 } %a, i64 %remainder, 1
  ret { i64, i64 } %b
}

define internal i128 @join(i64 %high, i64 %low) {
  %h = zext i64 %high to i128
  %l = zext i64 %low to i128
  %shifted = shl i128 %h, 64
  %result = or i128 %shifted, %l
  ret i128 %result
}

define internal { i128, i128 } @divide(i128 %n, i128 %d) {
entry:
  %n.shifted = lshr i128 %n, 64
  %n.high = trunc i128 %n.shifted to i64
  %n.low = trunc i128 %n to i64
  %d.shifted = lshr i128 %d, 64
  %d.high = trunc i128 %d.shifted to i64
  %d.low = trunc i128 %d to i64
  %narrow = icmp eq i64 %d.high, 0
  br i1 %narrow, label %by.one, label %by.two
by.one:
  %q.high = udiv i64 %n.high, %d.low
  %r.high = urem i64 %n.high, %d.low
  %simple = icmp eq i64 %r.high, 0
  br i1 %simple, label %one.word, label %two.words
one.word:
  %q1 = udiv i64 %n.low, %d.low
  %r1 = urem i64 %n.low, %d.low
  br label %joined
two.words:
  %both = call { i64, i64 } @divide_two(i64 %r.high, i64 %n.low, i64 %d.low)
  %q2 = extractvalue { i64, i64 } %both, 0
  %r2 = extractvalue { i64, i64 } %both, 1
  br label %joined
joined:
  %q.low = phi i64 [ %q1, %one.word ], [ %q2, %two.words ]
  %r.low = phi i64 [ %r1, %one.word ], [ %r2, %two.words ]
  %q.one = call i128 @join(i64 %q.high, i64 %q.low)
  %r.one = zext i64 %r.low to i128
  br label %done
by.two:
  ; The quotient by the divisor's 64 highest bits is right, or one too great: one less is right, or one too small.
  %shift = call i64 @llvm.ctlz.i64(i64 %d.high, i1 true)
  %highest = call i64 @llvm.fshl.i64(i64 %d.high, i64 %d.low, i64 %shift)
  %half = lshr i128 %n, 1
  %half.shifted = lshr i128 %half, 64
  %half.high = trunc i128 %half.shifted to i64
  %half.low = trunc i128 %half to i64
  %about = call { i64, i64 } @divide_two(i64 %half.high, i64 %half.low, i64 %highest)
  %scaled = extractvalue { i64, i64 } %about, 0
  %back = sub i64 63, %shift
  %guess = lshr i64 %scaled, %back
  %one.less = call i64 @llvm.usub.sat.i64(i64 %guess, i64 1)
  %least = zext i64 %one.less to i128
  %product = mul i128 %least, %d
  %rest = sub i128 %n, %product
  %more = icmp uge i128 %rest, %d
  %one = zext i1 %more to i128
  %q.two = add i128 %least, %one
  %rest.less = sub i128 %rest, %d
  %r.two = select i1 %more, i128 %rest.less, i128 %rest
  br label %done
done:
  %q = phi i128 [ %q.one, %joined ], [ %q.two, %by.two ]
  %r = phi i128 [ %r.one, %joined ], [ %r.two, %by.two ]
  %a = insertvalue { i128, i128 } poison, i128 %q, 0
  %b = insertvalue { i128, i128 } %a, i128 %r, 1
  ret { i128, i128 } %b
}

define i128 @__udivti3(i128 %n, i128 %d) {
  %both = call { i128, i128 } @divide(i128 %n, i128 %d)
  %result = extractvalue { i128, i128 } %both, 0
  ret i128 %result
}

define i128 @__umodti3(i128 %n, i128 %d) {
  %both = call { i128, i128 } @divide(i128 %n, i128 %d)
  %result = extractvalue { i128, i128 } %both, 1
  ret i128 %result
}

define i128 @__divti3(i128 %n, i128 %d) {
  %n.abs = call i128 @llvm.abs.i128(i128 %n, i1 false)
  %d.abs = call i128 @llvm.abs.i128(i128 %d, i1 false)
  %both = call { i128, i128 } @divide(i128 %n.abs, i128 %d.abs)
  %positive = extractvalue { i128, i128 } %both, 0
  %signs = xor i128 %n, %d
  %negative = sub i128 0, %positive
  %opposite = icmp slt i128 %signs, 0
  %result = select i1 %opposite, i128 %negative, i128 %positive
  ret i128 %result
}

define i128 @__modti3(i128 %n, i128 %d) {
  %n.abs = call i128 @llvm.abs.i128(i128 %n, i1 false)
  %d.abs = call i128 @llvm.abs.i128(i128 %d, i1 false)
  %both = call { i128, i128 } @divide(i128 %n.abs, i128 %d.abs)
  %positive = extractvalue { i128, i128 } %both, 1
  %negative = sub i128 0, %positive
  %below = icmp slt i128 %n, 0
  %result = select i1 %below, i128 %negative, i128 %positive
  ret i128 %result
}

; --- 128-bit integers and floats.

; The 64 highest bits of a number, the last of which stands for all below it, too; and how far up they were moved.
define internal { i64, i64 } @highest_bits(i128 %n) {
  %zeros = call i128 @llvm.ctlz.i128(i128 %n, i1 false)
  %zeros.short = trunc i128 %zeros to i64
  %shift = and i64 %zeros.short, 127
  %shift.wide = zext i64 %shift to i128
  %top = shl i128 %n, %shift.wide
  %top.shifted = lshr i128 %top, 64
  %high = trunc i128 %top.shifted to i64
  %low = trunc i128 %top to i64
  %some = icmp ne i64 %low, 0
  %sticky = zext i1 %some to i64
  %bits = or i64 %high, %sticky
  %a = insertvalue { i64, i64 } poison, i64 %bits, 0
  %b = insertvalue { i64, i64 } %a, i64 %shift, 1
  ret { i64, i64 } %b
}

define double @__floatuntidf(i128 %n) {
  %both = call { i64, i64 } @highest_bits(i128 %n)
  %bits = extractvalue { i64, i64 } %both, 0
  %shift = extractvalue { i64, i64 } %both, 1
  %value = uitofp i64 %bits to double
  %exponent = sub i64 1087, %shift
  %scale.bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %result = fmul double %value, %scale
  ret double %result
}

define float @__floatuntisf(i128 %n) {
  %both = call { i64, i64 } @highest_bits(i128 %n)
  %bits = extractvalue { i64, i64 } %both, 0
  %shift = extractvalue { i64, i64 } %both, 1
  %value = uitofp i64 %bits to float
  %shift.short = trunc i64 %shift to i32
  %exponent = sub i32 191, %shift.short
  %scale.bits = shl i32 %exponent, 23
  %scale = bitcast i32 %scale.bits to float
  %result = fmul float %value, %scale
  ret float %result
}

define internal i16 @half_of_integer(i128 %n) {
  ; Above the halves all are alike, and below a float has all bits.
  %most = call i128 @llvm.umin.i128(i128 %n, i128 131072)
  %short = trunc i128 %most to i32
  %value = uitofp i32 %short to float
  %bits = bitcast float %value to i32
  %result = call i16 @half_of_bits(i32 %bits)
  ret i16 %result
}

define half @__floatuntihf(i128 %n) {
  %bits = call i16 @half_of_integer(i128 %n)
  %result = bitcast i16 %bits to half
  ret half %result
}

define double @__floattidf(i128 %n) {
  %magnitude = call i128 @llvm.abs.i128(i128 %n, i1 false)
  %positive = call double @__floatuntidf(i128 %magnitude)
  %negative = fneg double %positive
  %below = icmp slt i128 %n, 0
  %result = select i1 %below, double %negative, double %positive
  ret double %result
}

define float @__floattisf(i128 %n) {
  %magnitude = call i128 @llvm.abs.i128(i128 %n, i1 false)
  %positive = call float @__floatuntisf(i128 %magnitude)
  %negative = fneg float %positive
  %below = icmp slt i128 %n, 0
  %result = select i1 %below, float %negative, float %positive
  ret float %result
}

define half @__floattihf(i128 %n) {
  %magnitude = call i128 @llvm.abs.i128(i128 %n, i1 false)
  %positive = call i16 @half_of_integer(i128 %magnitude)
  %below = icmp slt i128 %n, 0
  %sign = select i1 %below, i16 -32768, i16 0
  %bits = or i16 %positive, %sign
  %result = bitcast i16 %bits to half
  ret half %result
}

; Rounded towards zero; what is too large for 128 bits may give anything.
define i128 @__fixunsdfti(double %x) {
  %bits = bitcast double %x to i64
  %fraction = and i64 %bits, 4503599627370495
  %whole = or i64 %fraction, 4503599627370496
  %wide = zext i64 %whole to i128
  %field = lshr i64 %bits, 52
  %exponent = and i64 %field, 2047
  %up = call i64 @llvm.usub.sat.i64(i64 %exponent, i64 1075)
  %up.least = call i64 @llvm.umin.i64(i64 %up, i64 127)
  %down = call i64 @llvm.usub.sat.i64(i64 1075, i64 %exponent)
  %down.least = call i64 @llvm.umin.i64(i64 %down, i64 127)
  %up.wide = zext i64 %up.least to i128
  %down.wide = zext i64 %down.least to i128
  %raised = shl i128 %wide, %up.wide
  %result = lshr i128 %raised, %down.wide
  ret i128 %result
}

define i128 @__fixdfti(double %x) {
  %magnitude = call double @llvm.fabs.f64(double %x)
  %positive = call i128 @__fixunsdfti(double %magnitude)
  %negative = sub i128 0, %positive
  %below = fcmp olt double %x, 0.0
  %result = select i1 %below, i128 %negative, i128 %positive
  ret i128 %result
}

define i128 @__fixunssfti(float %x) {
  %wide = fpext float %x to double
  %result = call i128 @__fixunsdfti(double %wide)
  ret i128 %result
}

define i128 @__fixsfti(float %x) {
  %wide = fpext float %x to double
  %result = call i128 @__fixdfti(double %wide)
  ret i128 %result
}

define i128 @__fixunshfti(half %x) {
  %single = call float @__extendhfsf2(half %x)
  %result = call i128 @__fixunssfti(float %single)
  ret i128 %result
}

define i128 @__fixhfti(half %x) {
  %single = call float @__extendhfsf2(half %x)
  %result = call i128 @__fixsfti(float %single)
  ret i128 %result
}

declare double @llvm.fabs.f64(double)
declare x86_fp80 @llvm.fabs.f80(x86_fp80)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i128 @llvm.ctlz.i128(i128, i1)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i128 @llvm.umin.i128(i128, i128)
declare i128 @llvm.abs.i128(i128, i1)
