/* Conversions (OpenCL C 1.2, 6.2.3; 3.0, 6.4.3). */
#include "rounding.h"

/* From integers to integers nothing is rounded: one function, and one that saturates. */
#define INTEGER(T, F, VALUE)                                                                                           \
  T PURE convert_##T(F x) { return (T)x; }                                                                             \
  T PURE convert_##T##_rte(F x) { return (T)x; }                                                                       \
  T PURE convert_##T##_rtz(F x) { return (T)x; }                                                                       \
  T PURE convert_##T##_rtp(F x) { return (T)x; }                                                                       \
  T PURE convert_##T##_rtn(F x) { return (T)x; }                                                                       \
  T PURE convert_##T##_sat(F x) { return VALUE; }                                                                      \
  T PURE convert_##T##_sat_rte(F x) { return VALUE; }                                                                  \
  T PURE convert_##T##_sat_rtz(F x) { return VALUE; }                                                                  \
  T PURE convert_##T##_sat_rtp(F x) { return VALUE; }                                                                  \
  T PURE convert_##T##_sat_rtn(F x) { return VALUE; }
#define FROM_SIGNED(T, LOW, HIGH, F) INTEGER(T, F, (long)x > (long)HIGH ? HIGH : ((long)x < (long)LOW ? LOW : (T)x))
#define FROM_UNSIGNED(T, LOW, HIGH, F) INTEGER(T, F, (ulong)x > (ulong)HIGH ? HIGH : (T)x)
/* No long is too large for an unsigned one. */
#define TO_ULONG(F) INTEGER(ulong, F, x < 0 ? 0 : (ulong)x)

#define FROM_INTEGERS(T, LOW, HIGH)                                                                                    \
  FROM_SIGNED(T, LOW, HIGH, char)                                                                                      \
  FROM_SIGNED(T, LOW, HIGH, short)                                                                                     \
  FROM_SIGNED(T, LOW, HIGH, int)                                                                                       \
  FROM_SIGNED(T, LOW, HIGH, long)                                                                                      \
  FROM_UNSIGNEDS(T, LOW, HIGH)
#define FROM_UNSIGNEDS(T, LOW, HIGH)                                                                                   \
  FROM_UNSIGNED(T, LOW, HIGH, uchar)                                                                                   \
  FROM_UNSIGNED(T, LOW, HIGH, ushort)                                                                                  \
  FROM_UNSIGNED(T, LOW, HIGH, uint)                                                                                    \
  FROM_UNSIGNED(T, LOW, HIGH, ulong)
FROM_INTEGERS(char, SCHAR_MIN, SCHAR_MAX)
FROM_INTEGERS(uchar, 0, UCHAR_MAX)
FROM_INTEGERS(short, SHRT_MIN, SHRT_MAX)
FROM_INTEGERS(ushort, 0, USHRT_MAX)
FROM_INTEGERS(int, INT_MIN, INT_MAX)
FROM_INTEGERS(uint, 0, UINT_MAX)
FROM_INTEGERS(long, LONG_MIN, LONG_MAX)
FROM_UNSIGNEDS(ulong, 0, ULONG_MAX)
TO_ULONG(char)
TO_ULONG(short)
TO_ULONG(int)
TO_ULONG(long)

/* From F, rounded in C, which is F or float for halves. A number is compared with the power of two BOUND beyond the
 * highest integer, which is exact in every type that reaches it; NaN is 0. */
#define ROUNDED(T, F, C, LOW, HIGH, BOUND, SUFFIX, VALUE)                                                              \
  T PURE convert_##T##SUFFIX(F x) { return (T)VALUE; }                                                                 \
  T PURE convert_##T##_sat##SUFFIX(F x) {                                                                              \
    C y = VALUE;                                                                                                       \
    T z = (T)y;                                                                                                        \
    z = y >= (C)BOUND ? (T)HIGH : z;                                                                                   \
    z = y <= (C)LOW ? (T)LOW : z;                                                                                      \
    return y != y ? (T)0 : z;                                                                                          \
  }
#define FROM_FLOAT(T, F, C, LOW, HIGH, BOUND)                                                                          \
  ROUNDED(T, F, C, LOW, HIGH, BOUND, , (C)x)                                                                           \
  ROUNDED(T, F, C, LOW, HIGH, BOUND, _rtz, (C)x)                                                                       \
  ROUNDED(T, F, C, LOW, HIGH, BOUND, _rte, __builtin_elementwise_rint((C)x))                                           \
  ROUNDED(T, F, C, LOW, HIGH, BOUND, _rtp, __builtin_elementwise_ceil((C)x))                                           \
  ROUNDED(T, F, C, LOW, HIGH, BOUND, _rtn, __builtin_elementwise_floor((C)x))
/* Of halves LLVM makes llvm.rint.f16 and its like, which its code generator forgets before a conversion on machines with
 * AVX512-FP16; no half needs more than these sums of floats. */
#define NEAREST(x) (((float)x + 0x1.8p23f) - 0x1.8p23f)
#define FROM_HALF(T, LOW, HIGH, BOUND)                                                                                 \
  ROUNDED(T, half, float, LOW, HIGH, BOUND, , (float)x)                                                                \
  ROUNDED(T, half, float, LOW, HIGH, BOUND, _rtz, (float)x)                                                            \
  ROUNDED(T, half, float, LOW, HIGH, BOUND, _rte, NEAREST(x))                                                          \
  ROUNDED(T, half, float, LOW, HIGH, BOUND, _rtp, (NEAREST(x) + (NEAREST(x) < (float)x ? 1.0f : 0.0f)))                \
  ROUNDED(T, half, float, LOW, HIGH, BOUND, _rtn, (NEAREST(x) - (NEAREST(x) > (float)x ? 1.0f : 0.0f)))
#define FROM_FLOATS(T, LOW, HIGH, BOUND)                                                                               \
  FROM_HALF(T, LOW, HIGH, BOUND)                                                                                       \
  FROM_FLOAT(T, float, float, LOW, HIGH, BOUND)                                                                        \
  FROM_FLOAT(T, double, double, LOW, HIGH, BOUND)
FROM_FLOATS(char, SCHAR_MIN, SCHAR_MAX, 0x1p7)
FROM_FLOATS(uchar, 0, UCHAR_MAX, 0x1p8)
FROM_FLOATS(short, SHRT_MIN, SHRT_MAX, 0x1p15)
FROM_FLOATS(ushort, 0, USHRT_MAX, 0x1p16)
FROM_FLOATS(int, INT_MIN, INT_MAX, 0x1p31)
FROM_FLOATS(uint, 0, UINT_MAX, 0x1p32)
FROM_FLOATS(long, LONG_MIN, LONG_MAX, 0x1p63)
FROM_FLOATS(ulong, 0, ULONG_MAX, 0x1p64)

/* To floating point. By way of BY, which has every value of F. */
#define TO_FLOAT(T, F, BY)                                                                                             \
  T PURE convert_##T(F x) { return to_##T##_rte((BY)x); }                                                              \
  T PURE convert_##T##_rte(F x) { return to_##T##_rte((BY)x); }                                                        \
  T PURE convert_##T##_rtz(F x) { return to_##T##_rtz((BY)x); }                                                        \
  T PURE convert_##T##_rtp(F x) { return to_##T##_rtp((BY)x); }                                                        \
  T PURE convert_##T##_rtn(F x) { return to_##T##_rtn((BY)x); }
/* T has every value of F. */
#define EXACT(T, F)                                                                                                    \
  T PURE convert_##T(F x) { return (T)x; }                                                                             \
  T PURE convert_##T##_rte(F x) { return (T)x; }                                                                       \
  T PURE convert_##T##_rtz(F x) { return (T)x; }                                                                       \
  T PURE convert_##T##_rtp(F x) { return (T)x; }                                                                       \
  T PURE convert_##T##_rtn(F x) { return (T)x; }

EXACT(double, char)
EXACT(double, uchar)
EXACT(double, short)
EXACT(double, ushort)
EXACT(double, int)
EXACT(double, uint)
TO_FLOAT(double, long, long)
TO_FLOAT(double, ulong, ulong)
EXACT(double, half)
EXACT(double, float)
EXACT(double, double)

EXACT(float, char)
EXACT(float, uchar)
EXACT(float, short)
EXACT(float, ushort)
TO_FLOAT(float, int, long)
TO_FLOAT(float, uint, long)
TO_FLOAT(float, long, long)
TO_FLOAT(float, ulong, ulong)
EXACT(float, half)
EXACT(float, float)
TO_FLOAT(float, double, double)

EXACT(half, char)
EXACT(half, uchar)
TO_FLOAT(half, short, float)
TO_FLOAT(half, ushort, float)
TO_FLOAT(half, int, double)
TO_FLOAT(half, uint, double)
TO_FLOAT(half, long, long)
TO_FLOAT(half, ulong, ulong)
EXACT(half, half)
TO_FLOAT(half, float, float)
TO_FLOAT(half, double, double)
