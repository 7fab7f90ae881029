/* Halves: numbers of 16 bits, one or two at a time. */
#ifndef WEFT_CUDA_FP16_H
#define WEFT_CUDA_FP16_H

#include "weft/cuda.h"

#define WEFT_INLINE __host__ __device__ __attribute__((always_inline, nodebug))
struct __half_raw {
  unsigned short x;
};
struct __half {
  _Float16 value;
  __half() = default;
  WEFT_INLINE constexpr __half(_Float16 x) : value(x) {}
  WEFT_INLINE constexpr __half(float x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(double x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(int x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(unsigned x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(long x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(unsigned long x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(long long x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(unsigned long long x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(short x) : value((_Float16)x) {}
  WEFT_INLINE constexpr __half(unsigned short x) : value((_Float16)x) {}
  WEFT_INLINE __half(__half_raw x) : value(__builtin_bit_cast(_Float16, x)) {}
  WEFT_INLINE constexpr operator float() const { return (float)value; }
  WEFT_INLINE operator __half_raw() const { return __builtin_bit_cast(__half_raw, value); }
  WEFT_INLINE explicit constexpr operator double() const { return (double)value; }
  WEFT_INLINE explicit constexpr operator int() const { return (int)value; }
  WEFT_INLINE explicit constexpr operator unsigned() const { return (unsigned)value; }
  WEFT_INLINE explicit constexpr operator short() const { return (short)value; }
  WEFT_INLINE explicit constexpr operator bool() const { return value != (_Float16)0; }
};
struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  WEFT_INLINE constexpr __half2(__half x, __half y) : x(x), y(y) {}
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define WEFT_OPERATOR(OP)                                                                                              \
  WEFT_INLINE inline __half operator OP(__half a, __half b) { return __half((_Float16)(a.value OP b.value)); }         \
  WEFT_INLINE inline __half &operator OP##=(__half & a, __half b) { return a = a OP b; }                               \
  WEFT_INLINE inline __half2 operator OP(__half2 a, __half2 b) { return __half2(a.x OP b.x, a.y OP b.y); }             \
  WEFT_INLINE inline __half2 &operator OP##=(__half2 & a, __half2 b) { return a = a OP b; }
WEFT_OPERATOR(+)
WEFT_OPERATOR(-)
WEFT_OPERATOR(*)
WEFT_OPERATOR(/)
#undef WEFT_OPERATOR
#define WEFT_COMPARISON(OP)                                                                                            \
  WEFT_INLINE inline bool operator OP(__half a, __half b) { return a.value OP b.value; }
WEFT_COMPARISON(==)
WEFT_COMPARISON(!=)
WEFT_COMPARISON(<)
WEFT_COMPARISON(>)
WEFT_COMPARISON(<=)
WEFT_COMPARISON(>=)
#undef WEFT_COMPARISON
WEFT_INLINE inline __half operator-(__half a) { return __half((_Float16)-a.value); }
WEFT_INLINE inline __half operator+(__half a) { return a; }
WEFT_INLINE inline __half2 operator-(__half2 a) { return __half2(-a.x, -a.y); }

WEFT_BOTH __half __float2half(float x) { return __half(x); }
WEFT_BOTH __half __float2half_rn(float x) { return __half(x); }
WEFT_BOTH __half __double2half(double x) { return __half(x); }
WEFT_BOTH float __half2float(__half x) { return (float)x.value; }
WEFT_BOTH __half __int2half_rn(int x) { return __half(x); }
WEFT_BOTH __half __uint2half_rn(unsigned x) { return __half(x); }
WEFT_BOTH __half __short2half_rn(short x) { return __half(x); }
WEFT_DEVICE int __half2int_rn(__half x) { return __float2int_rn((float)x.value); }
WEFT_DEVICE int __half2int_rz(__half x) { return __float2int_rz((float)x.value); }
WEFT_BOTH unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x.value); }
WEFT_BOTH short __half_as_short(__half x) { return __builtin_bit_cast(short, x.value); }
WEFT_BOTH __half __ushort_as_half(unsigned short x) { return __half(__builtin_bit_cast(_Float16, x)); }
WEFT_BOTH __half __short_as_half(short x) { return __half(__builtin_bit_cast(_Float16, x)); }
WEFT_BOTH __half2 make_half2(__half x, __half y) { return __half2(x, y); }
WEFT_BOTH __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
WEFT_BOTH __half2 __half2half2(__half x) { return __half2(x, x); }
WEFT_BOTH __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
WEFT_BOTH __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
WEFT_BOTH __half2 __float22half2_rn(float2 x) { return __half2(__half(x.x), __half(x.y)); }
WEFT_BOTH float2 __half22float2(__half2 x) { return make_float2((float)x.x.value, (float)x.y.value); }
WEFT_BOTH __half __low2half(__half2 x) { return x.x; }
WEFT_BOTH __half __high2half(__half2 x) { return x.y; }
WEFT_BOTH float __low2float(__half2 x) { return (float)x.x.value; }
WEFT_BOTH float __high2float(__half2 x) { return (float)x.y.value; }
WEFT_BOTH __half2 __low2half2(__half2 x) { return __half2(x.x, x.x); }
WEFT_BOTH __half2 __high2half2(__half2 x) { return __half2(x.y, x.y); }
WEFT_BOTH __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
WEFT_BOTH __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
WEFT_BOTH __half2 __lowhigh2highlow(__half2 x) { return __half2(x.y, x.x); }

#define WEFT_BINARY(NAME, EXPRESSION)                                                                                  \
  WEFT_DEVICE __half __h##NAME(__half a, __half b) { return EXPRESSION; }                                              \
  WEFT_DEVICE __half2 __h##NAME##2(__half2 a, __half2 b) { return __half2(__h##NAME(a.x, b.x), __h##NAME(a.y, b.y)); }
WEFT_BINARY(add, a + b)
WEFT_BINARY(sub, a - b)
WEFT_BINARY(mul, a *b)
WEFT_BINARY(add_rn, a + b)
WEFT_BINARY(sub_rn, a - b)
WEFT_BINARY(mul_rn, a *b)
WEFT_BINARY(max, __half(fmaxf(a, b)))
WEFT_BINARY(min, __half(fminf(a, b)))
#undef WEFT_BINARY
WEFT_DEVICE __half __hdiv(__half a, __half b) { return a / b; }
WEFT_DEVICE __half2 __h2div(__half2 a, __half2 b) { return a / b; }
WEFT_DEVICE __half __hneg(__half a) { return -a; }
WEFT_DEVICE __half2 __hneg2(__half2 a) { return -a; }
WEFT_DEVICE __half __habs(__half a) { return __half(fabsf(a)); }
WEFT_DEVICE __half2 __habs2(__half2 a) { return __half2(__habs(a.x), __habs(a.y)); }
WEFT_DEVICE __half __hfma(__half a, __half b, __half c) {
  return __half((_Float16)__builtin_elementwise_fma(a.value, b.value, c.value));
}
WEFT_DEVICE __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
WEFT_DEVICE bool __hisnan(__half a) { return isnan((float)a.value); }
WEFT_DEVICE int __hisinf(__half a) { return isinf((float)a.value); }
#define WEFT_TEST(NAME, OP)                                                                                            \
  WEFT_DEVICE bool __h##NAME(__half a, __half b) { return a OP b; }                                                    \
  WEFT_DEVICE __half2 __h##NAME##2(__half2 a, __half2 b) {                                                             \
    return __half2(__half(a.x OP b.x ? 1.0f : 0.0f), __half(a.y OP b.y ? 1.0f : 0.0f));                                \
  }                                                                                                                    \
  WEFT_DEVICE bool __hb##NAME##2(__half2 a, __half2 b) { return a.x OP b.x && a.y OP b.y; }
WEFT_TEST(eq, ==)
WEFT_TEST(ne, !=)
WEFT_TEST(lt, <)
WEFT_TEST(gt, >)
WEFT_TEST(le, <=)
WEFT_TEST(ge, >=)
#undef WEFT_TEST
#define WEFT_FUNCTION(NAME, EXPRESSION)                                                                                \
  WEFT_DEVICE __half h##NAME(__half a) {                                                                               \
    const float x = a;                                                                                                 \
    return __half(EXPRESSION);                                                                                         \
  }                                                                                                                    \
  WEFT_DEVICE __half2 h2##NAME(__half2 a) { return __half2(h##NAME(a.x), h##NAME(a.y)); }
WEFT_FUNCTION(sqrt, sqrtf(x))
WEFT_FUNCTION(rsqrt, rsqrtf(x))
WEFT_FUNCTION(rcp, 1.0f / x)
WEFT_FUNCTION(exp, expf(x))
WEFT_FUNCTION(exp2, exp2f(x))
WEFT_FUNCTION(exp10, exp10f(x))
WEFT_FUNCTION(log, logf(x))
WEFT_FUNCTION(log2, log2f(x))
WEFT_FUNCTION(log10, log10f(x))
WEFT_FUNCTION(sin, sinf(x))
WEFT_FUNCTION(cos, cosf(x))
WEFT_FUNCTION(floor, floorf(x))
WEFT_FUNCTION(ceil, ceilf(x))
WEFT_FUNCTION(trunc, truncf(x))
WEFT_FUNCTION(rint, rintf(x))
WEFT_FUNCTION(tanh, tanhf(x))
#undef WEFT_FUNCTION

WEFT_CONVERGENT __half __shfl_sync(unsigned mask, __half x, int lane, int width = 32) {
  return __ushort_as_half((unsigned short)__shfl_sync(mask, (int)__half_as_ushort(x), lane, width));
}
WEFT_CONVERGENT __half __shfl_xor_sync(unsigned mask, __half x, int bits, int width = 32) {
  return __ushort_as_half((unsigned short)__shfl_xor_sync(mask, (int)__half_as_ushort(x), bits, width));
}
WEFT_CONVERGENT __half __shfl_down_sync(unsigned mask, __half x, unsigned n, int width = 32) {
  return __ushort_as_half((unsigned short)__shfl_down_sync(mask, (int)__half_as_ushort(x), n, width));
}
WEFT_CONVERGENT __half __shfl_up_sync(unsigned mask, __half x, unsigned n, int width = 32) {
  return __ushort_as_half((unsigned short)__shfl_up_sync(mask, (int)__half_as_ushort(x), n, width));
}
#define WEFT_PAIR(NAME, __N)                                                                                             \
  WEFT_CONVERGENT __half2 NAME(unsigned mask, __half2 x, __N n, int width = 32) {                                        \
    return weft_bits<__half2>(NAME(mask, weft_bits<int>(x), n, width));                                                \
  }
WEFT_PAIR(__shfl_sync, int)
WEFT_PAIR(__shfl_xor_sync, int)
WEFT_PAIR(__shfl_down_sync, unsigned)
WEFT_PAIR(__shfl_up_sync, unsigned)
#undef WEFT_PAIR

/* Swapped until nobody was in between: there is no addition of halves at memory. */
WEFT_DEVICE __half atomicAdd(__half *p, __half x) {
  unsigned short *place = (unsigned short *)p, old = *(volatile unsigned short *)place, expected;
  do {
    expected = old;
    old = atomicCAS(place, expected, __half_as_ushort(__ushort_as_half(expected) + x));
  } while (old != expected);
  return __ushort_as_half(old);
}
WEFT_DEVICE __half2 atomicAdd(__half2 *p, __half2 x) {
  const __half a = atomicAdd(&p->x, x.x), b = atomicAdd(&p->y, x.y);
  return __half2(a, b);
}

#undef WEFT_INLINE
#endif
