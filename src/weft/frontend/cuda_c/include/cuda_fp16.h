/* Halves: numbers of 16 bits, one or two at a time. */
#ifndef WEFT_CUDA_FP16_H
#define WEFT_CUDA_FP16_H

#include "weft/number16.h"

#define WEFT_MEMBER __host__ __device__ __attribute__((always_inline, nodebug))
struct __half_raw {
  unsigned short x;
};
struct __half {
  _Float16 value;
  __half() = default;
  WEFT_MEMBER constexpr __half(_Float16 x) : value(x) {}
  WEFT_MEMBER constexpr __half(float x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(double x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(int x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(unsigned x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(long x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(unsigned long x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(long long x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(unsigned long long x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(short x) : value((_Float16)x) {}
  WEFT_MEMBER constexpr __half(unsigned short x) : value((_Float16)x) {}
  WEFT_MEMBER __half(__half_raw x) : value(__builtin_bit_cast(_Float16, x)) {}
  WEFT_MEMBER constexpr operator float() const { return (float)value; }
  WEFT_MEMBER operator __half_raw() const { return __builtin_bit_cast(__half_raw, value); }
  WEFT_MEMBER explicit constexpr operator double() const { return (double)value; }
  WEFT_MEMBER explicit constexpr operator int() const { return weft_whole<int>((float)value); }
  WEFT_MEMBER explicit constexpr operator unsigned() const { return weft_whole<unsigned>((float)value); }
  WEFT_MEMBER explicit constexpr operator long() const { return weft_whole<long>((float)value); }
  WEFT_MEMBER explicit constexpr operator unsigned long() const { return weft_whole<unsigned long>((float)value); }
  WEFT_MEMBER explicit constexpr operator long long() const { return weft_whole<long long>((float)value); }
  WEFT_MEMBER explicit constexpr operator unsigned long long() const { return weft_whole<unsigned long long>((float)value); }
  WEFT_MEMBER explicit constexpr operator short() const { return weft_whole<short>((float)value); }
  WEFT_MEMBER explicit constexpr operator unsigned short() const { return weft_whole<unsigned short>((float)value); }
  WEFT_MEMBER explicit constexpr operator signed char() const { return weft_whole<signed char>((float)value); }
  WEFT_MEMBER explicit constexpr operator unsigned char() const { return weft_whole<unsigned char>((float)value); }
  WEFT_MEMBER explicit constexpr operator char() const { return weft_whole<char>((float)value); }
  WEFT_MEMBER explicit constexpr operator bool() const { return value != (_Float16)0; }
};
struct __half2_raw {
  unsigned short x, y;
};
struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  WEFT_MEMBER constexpr __half2(__half x, __half y) : x(x), y(y) {}
  WEFT_MEMBER __half2(__half2_raw p) : x(__half_raw{p.x}), y(__half_raw{p.y}) {}
  WEFT_MEMBER operator __half2_raw() const { return {((__half_raw)x).x, ((__half_raw)y).x}; }
};
#undef WEFT_MEMBER
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define WEFT_H __half
#define WEFT_H2 __half2
#define WEFT_N half
#define WEFT_N2 half2
#define WEFT_RESULT(a, OP, b) __half((_Float16)(a.value OP b.value))
#define WEFT_FUSED(a, b, c) __half((_Float16)__builtin_elementwise_fma(a.value, b.value, c.value))
#include "weft/halves.h"
#undef WEFT_FUSED
#undef WEFT_RESULT
#undef WEFT_N2
#undef WEFT_N
#undef WEFT_H2
#undef WEFT_H

#endif
