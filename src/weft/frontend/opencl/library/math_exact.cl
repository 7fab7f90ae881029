/* Math functions whose results are exact or correctly rounded (OpenCL C 1.2, 6.12.2; 3.0, 6.15.2). */
#include "rounding.h"

/* clang before version 21 has them under these names. */
#if !__has_builtin(__builtin_elementwise_maxnum)
#define __builtin_elementwise_maxnum __builtin_elementwise_max
#define __builtin_elementwise_minnum __builtin_elementwise_min
#endif

#define ROUNDINGS(T)                                                                                                   \
  T PURE ceil(T x) { return __builtin_elementwise_ceil(x); }                                                           \
  T PURE floor(T x) { return __builtin_elementwise_floor(x); }                                                         \
  T PURE trunc(T x) { return __builtin_elementwise_trunc(x); }                                                         \
  T PURE rint(T x) { return __builtin_elementwise_rint(x); }                                                           \
  T PURE round(T x) { return __builtin_elementwise_round(x); }                                                         \
  T PURE fabs(T x) { return __builtin_elementwise_abs(x); }                                                            \
  T PURE sqrt(T x) { return __builtin_elementwise_sqrt(x); }                                                           \
  T PURE copysign(T x, T y) { return __builtin_elementwise_copysign(x, y); }                                           \
  T PURE fmax(T x, T y) { return __builtin_elementwise_maxnum(x, y); }                                                 \
  T PURE fmin(T x, T y) { return __builtin_elementwise_minnum(x, y); }                                                 \
  T PURE fdim(T x, T y) { return x <= y ? (T)0 : x - y; }                                                              \
  T PURE fma(T x, T y, T z) { return __builtin_elementwise_fma(x, y, z); }                                             \
  T PURE maxmag(T x, T y) {                                                                                            \
    const T a = fabs(x), b = fabs(y);                                                                                  \
    const T other = b > a ? y : fmax(x, y);                                                                            \
    return a > b ? x : other;                                                                                          \
  }                                                                                                                    \
  T PURE minmag(T x, T y) {                                                                                            \
    const T a = fabs(x), b = fabs(y);                                                                                  \
    const T other = b < a ? y : fmin(x, y);                                                                            \
    return a < b ? x : other;                                                                                          \
  }                                                                                                                    \
  T PURE mad(T x, T y, T z) {                                                                                          \
    _Pragma("clang fp contract(on)") return x * y + z;                                                                 \
  }                                                                                                                    \
  T PURE nextafter(T x, T y) {                                                                                         \
    const T next = y > x ? above(x) : below(x);                                                                        \
    return x != x || y != y ? x + y : (x == y ? y : next);                                                             \
  }
FOR_FLOATS(ROUNDINGS)

float PURE nan(uint code) { return as_float(0x7fc00000u | (code & 0x3fffffu)); }
double PURE nan(ulong code) { return as_double(0x7ff8000000000000ul | (code & 0x7fffffffffffful)); }
half PURE nan(ushort code) { return as_half((ushort)(0x7e00 | (code & 0x1ff))); }

/* S is the integer of T's size; BITS are of its fraction, BIAS its exponent of 1, LIFT makes subnormals normal. */
#define EXPONENTS(T, S, BITS, BIAS, LIFT)                                                                              \
  HELPER int exponent_of(T x) {                                                                                        \
    const bool small = __builtin_elementwise_abs(x) < LEAST_##T;                                                       \
    const T y = small ? x * LIFT : x;                                                                                  \
    return (int)((as_##S(y) >> BITS) & (2 * BIAS + 1)) - BIAS - (small ? BITS + 2 : 0);                                \
  }                                                                                                                    \
  int PURE ilogb(T x) {                                                                                                \
    int e = exponent_of(x);                                                                                            \
    e = e > BIAS ? INT_MAX : e;                                                                                        \
    e = x != x ? FP_ILOGBNAN : e;                                                                                      \
    return x == 0 ? FP_ILOGB0 : e;                                                                                     \
  }                                                                                                                    \
  T PURE logb(T x) {                                                                                                   \
    const int e = exponent_of(x);                                                                                      \
    const T value = e > BIAS ? x * x : (T)e;                                                                           \
    return x == 0 ? -(T)INFINITY : value;                                                                              \
  }                                                                                                                    \
  HELPER T fraction_of(T x) {                                                                                          \
    const bool small = __builtin_elementwise_abs(x) < LEAST_##T;                                                       \
    const S bits = as_##S(small ? x * LIFT : x);                                                                       \
    const T y = as_##T((S)((bits & ~((S)(2 * BIAS + 1) << BITS)) | ((S)(BIAS - 1) << BITS)));                          \
    return x == 0 || x - x != 0 ? x : y;                                                                               \
  }                                                                                                                    \
  HELPER int exponent_of_fraction(T x) { return x == 0 || x - x != 0 ? 0 : exponent_of(x) + 1; }
#define LEAST_float FLT_MIN
#define LEAST_double DBL_MIN
#define LEAST_half HALF_MIN
EXPONENTS(float, int, 23, 127, 0x1p25f)
EXPONENTS(double, long, 52, 1023, 0x1p54)
EXPONENTS(half, short, 10, 15, (half)0x1p12f)

/* All of x 2^n that matter are exact in double, and rounded once. */
float PURE ldexp(float x, int n) {
  const int m = n > 400 ? 400 : (n < -400 ? -400 : n);
  return (float)((double)x * as_double((long)(m + 1023) << 52));
}
half PURE ldexp(half x, int n) {
  const int m = n > 60 ? 60 : (n < -60 ? -60 : n);
  return (half)((float)x * as_float((m + 127) << 23));
}
/* In three steps, of which the last alone rounds: the others stay well inside of the range. */
double PURE ldexp(double x, int n) {
  int m = n > 3000 ? 3000 : (n < -3000 ? -3000 : n);
  const int a = m > 1023 ? 1023 : (m < -1022 ? -969 : m);
  m -= a;
  const int b = m > 1023 ? 1023 : (m < -1022 ? -969 : m);
  m -= b;
  const int c = m > 1023 ? 1023 : (m < -1022 ? -1022 : m);
  return x * as_double((long)(a + 1023) << 52) * as_double((long)(b + 1023) << 52) * as_double((long)(c + 1023) << 52);
}

#define PARTS(T, BELOW_ONE, SPACE)                                                                                     \
  T BUILTIN fract(T x, SPACE T *whole) {                                                                               \
    const T down = __builtin_elementwise_floor(x), rest = x - down;                                                    \
    *whole = down;                                                                                                     \
    const T part = rest > BELOW_ONE ? BELOW_ONE : rest;                                                                \
    return x - x != 0 && x == x ? __builtin_elementwise_copysign((T)0, x) : (x == 0 ? x : part);                       \
  }                                                                                                                    \
  T BUILTIN modf(T x, SPACE T *whole) {                                                                                \
    const T nearer = __builtin_elementwise_trunc(x);                                                                   \
    *whole = nearer;                                                                                                   \
    return __builtin_elementwise_copysign(nearer == x ? (T)0 : x - nearer, x);                                         \
  }                                                                                                                    \
  T BUILTIN frexp(T x, SPACE int *exponent) {                                                                          \
    *exponent = exponent_of_fraction(x);                                                                               \
    return fraction_of(x);                                                                                             \
  }

/* The C library has the remainder; of the quotient it keeps three bits, and seven are wanted. What is left of 128 y
 * is taken off bit by bit, exactly. Large divisors are scaled, with x, so that 128 y is finite. */
float fmod_of_c(float x, float y) __attribute__((const)) EXTERN("fmodf");
double fmod_of_c_double(double x, double y) __attribute__((const)) EXTERN("fmod");
float PURE fmod(float x, float y) { return fmod_of_c(x, y); }
double PURE fmod(double x, double y) { return fmod_of_c_double(x, y); }
half PURE fmod(half x, half y) { return (half)fmod((float)x, (float)y); }

#define REMAINDERS(T, S, LARGE, DOWN)                                                                                  \
  HELPER T remainder_and_quotient(T x, T y, int *quotient) {                                                           \
    const T a = __builtin_elementwise_abs(x), b = __builtin_elementwise_abs(y);                                        \
    const T scale = b > LARGE ? DOWN : (T)1, back = b > LARGE ? (T)1 / DOWN : (T)1;                                    \
    const T d = b * scale;                                                                                             \
    /* What is far below the divisor stays, and may not bear scaling. */                                              \
    const bool stays = b - b != 0 || (b > LARGE && a < 1);                                                             \
    T r = fmod(a * scale, d * 128);                                                                                    \
    int q = 0;                                                                                                         \
    STEP(T, 64) STEP(T, 32) STEP(T, 16) STEP(T, 8) STEP(T, 4) STEP(T, 2) STEP(T, 1)                                    \
    const T rest = d - r;                                                                                              \
    const bool up = r > rest || (r == rest && (q & 1));                                                                \
    q += up ? 1 : 0;                                                                                                   \
    r = up ? -rest : r;                                                                                                \
    q &= 127;                                                                                                          \
    const bool defined = (x == x) & (y == y) & (a - a == 0) & (b != 0);                                                \
    q = (as_##S(x) ^ as_##S(y)) < 0 ? -q : q;                                                                          \
    *quotient = defined & !stays ? q : 0;                                                                              \
    /* The sign of x, of a 0 as well. */                                                                               \
    const T result = as_##T((S)(as_##S(r * back) ^ (as_##S(x) & as_##S((T)-0.0f))));                                   \
    const T value = stays ? x : result;                                                                                \
    return defined ? value : (T)NAN;                                                                                   \
  }                                                                                                                    \
  T PURE remainder(T x, T y) {                                                                                         \
    int quotient;                                                                                                      \
    return remainder_and_quotient(x, y, &quotient);                                                                    \
  }
#define STEP(T, K)                                                                                                     \
  {                                                                                                                    \
    const bool has = r >= d * K;                                                                                       \
    r = has ? r - d * K : r;                                                                                           \
    q += has ? K : 0;                                                                                                  \
  }
REMAINDERS(float, int, 0x1p118f, 0x1p-10f)
REMAINDERS(double, long, 0x1p1014, 0x1p-10)
half PURE remainder(half x, half y) { return (half)remainder((float)x, (float)y); }

#define REMQUO(T, C, SPACE)                                                                                            \
  T BUILTIN remquo(T x, T y, SPACE int *quotient) {                                                                    \
    int q;                                                                                                             \
    const C r = remainder_and_quotient((C)x, (C)y, &q);                                                                \
    *quotient = q;                                                                                                     \
    return (T)r;                                                                                                       \
  }
#define THROUGH_POINTERS(SPACE)                                                                                        \
  PARTS(float, 0x1.fffffep-1f, SPACE)                                                                                  \
  PARTS(double, 0x1.fffffffffffffp-1, SPACE)                                                                           \
  PARTS(half, (half)0x1.ffcp-1f, SPACE)                                                                                \
  REMQUO(float, float, SPACE)                                                                                          \
  REMQUO(double, double, SPACE)                                                                                        \
  REMQUO(half, float, SPACE)
THROUGH_POINTERS(__global)
THROUGH_POINTERS(__local)
THROUGH_POINTERS(__private)
THROUGH_POINTERS(__generic)
