/* bfloat16: the upper halves of floats, one or two at a time. Arithmetic is that of floats, rounded behind each step. */
#ifndef WEFT_CUDA_BF16_H
#define WEFT_CUDA_BF16_H

#include "weft/number16.h"

/* The upper half of the nearest float that has no lower one, of two the even one. */
WEFT_BOTH constexpr unsigned short weft_upper_half(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  return x != x ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
/* A float that is rounded again as the double is: its last bit is set where digits were lost. */
WEFT_BOTH constexpr float weft_few_digits(double x) {
  const float near = (float)x;
  const double back = (double)near;
  const bool beyond = x < 0 ? back < x : back > x, lost = back != x && x == x;
  return __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, near) - (beyond ? 1u : 0u)) | (lost ? 1u : 0u));
}

#define WEFT_MEMBER __host__ __device__ __attribute__((always_inline, nodebug))
struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  WEFT_MEMBER constexpr __nv_bfloat16(float x) : bits(weft_upper_half(x)) {}
  WEFT_MEMBER constexpr __nv_bfloat16(double x) : bits(weft_upper_half(weft_few_digits(x))) {}
  WEFT_MEMBER constexpr __nv_bfloat16(int x) : __nv_bfloat16((double)x) {}
  WEFT_MEMBER constexpr __nv_bfloat16(unsigned x) : __nv_bfloat16((double)x) {}
  WEFT_MEMBER constexpr __nv_bfloat16(short x) : __nv_bfloat16((float)x) {}
  WEFT_MEMBER constexpr __nv_bfloat16(unsigned short x) : __nv_bfloat16((float)x) {}
  WEFT_MEMBER __nv_bfloat16(long x) : __nv_bfloat16(weft_sticky((long long)x)) {}
  WEFT_MEMBER __nv_bfloat16(unsigned long x) : __nv_bfloat16(weft_sticky((unsigned long long)x)) {}
  WEFT_MEMBER __nv_bfloat16(long long x) : __nv_bfloat16(weft_sticky(x)) {}
  WEFT_MEMBER __nv_bfloat16(unsigned long long x) : __nv_bfloat16(weft_sticky(x)) {}
  WEFT_MEMBER constexpr __nv_bfloat16(__nv_bfloat16_raw x) : bits(x.x) {}
  WEFT_MEMBER constexpr operator float() const { return __builtin_bit_cast(float, (unsigned)bits << 16); }
  WEFT_MEMBER operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{bits}; }
  WEFT_MEMBER explicit constexpr operator double() const { return (float)*this; }
  WEFT_MEMBER explicit constexpr operator int() const { return weft_whole<int>((float)*this); }
  WEFT_MEMBER explicit constexpr operator unsigned() const { return weft_whole<unsigned>((float)*this); }
  WEFT_MEMBER explicit constexpr operator long() const { return weft_whole<long>((float)*this); }
  WEFT_MEMBER explicit constexpr operator unsigned long() const { return weft_whole<unsigned long>((float)*this); }
  WEFT_MEMBER explicit constexpr operator long long() const { return weft_whole<long long>((float)*this); }
  WEFT_MEMBER explicit constexpr operator unsigned long long() const { return weft_whole<unsigned long long>((float)*this); }
  WEFT_MEMBER explicit constexpr operator short() const { return weft_whole<short>((float)*this); }
  WEFT_MEMBER explicit constexpr operator unsigned short() const { return weft_whole<unsigned short>((float)*this); }
  WEFT_MEMBER explicit constexpr operator signed char() const { return weft_whole<signed char>((float)*this); }
  WEFT_MEMBER explicit constexpr operator unsigned char() const { return weft_whole<unsigned char>((float)*this); }
  WEFT_MEMBER explicit constexpr operator char() const { return weft_whole<char>((float)*this); }
  WEFT_MEMBER explicit constexpr operator bool() const { return (bits & 0x7fff) != 0; }
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};
struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  WEFT_MEMBER constexpr __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
  WEFT_MEMBER __nv_bfloat162(__nv_bfloat162_raw p) : x(__nv_bfloat16_raw{p.x}), y(__nv_bfloat16_raw{p.y}) {}
  WEFT_MEMBER operator __nv_bfloat162_raw() const { return {((__nv_bfloat16_raw)x).x, ((__nv_bfloat16_raw)y).x}; }
};
#undef WEFT_MEMBER
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

/* `a * b + c`, rounded once: the product is exact in double, and what the sum loses sets its last bit. */
#pragma clang fp contract(off)
WEFT_BOTH __nv_bfloat16 weft_fused(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  const double product = (double)a * (double)b, sum = product + (double)c, part = sum - product;
  const double left = (product - (sum - part)) + ((double)c - part);
  const bool lost = left < 0 || left > 0;
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, sum) - (lost && (left < 0) != (sum < 0));
  return __nv_bfloat16(__builtin_bit_cast(double, bits | (unsigned long long)lost));
}
#pragma clang fp contract(WEFT_CONTRACT)

#define WEFT_H __nv_bfloat16
#define WEFT_H2 __nv_bfloat162
#define WEFT_N bfloat16
#define WEFT_N2 bfloat162
#define WEFT_RESULT(a, OP, b) __nv_bfloat16((float)a OP(float) b)
#define WEFT_FUSED(a, b, c) weft_fused(a, b, c)
#include "weft/halves.h"
#undef WEFT_FUSED
#undef WEFT_RESULT
#undef WEFT_N2
#undef WEFT_N
#undef WEFT_H2
#undef WEFT_H

#endif
