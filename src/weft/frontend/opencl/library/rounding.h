/* Conversions to a floating-point type in each of the four directions, from the one that machines have: round to the
 * nearest, and take the neighbour if that went the wrong way. */
#ifndef WEFT_OPENCL_ROUNDING_H
#define WEFT_OPENCL_ROUNDING_H

#define HELPER static __attribute__((always_inline, overloadable))

/* The neighbours of a number, by its place in the order of all; those of an infinity are finite or NaN. */
#define NEIGHBOURS(T, S)                                                                                               \
  HELPER S place(T x) { return as_##S(x) < 0 ? (S)(S##_SIGN - as_##S(x)) : as_##S(x); }                                \
  HELPER T at_place(S i) { return as_##T((S)(i < 0 ? S##_SIGN - i : i)); }                                             \
  HELPER T below(T x) { return at_place((S)(place(x) - 1)); }                                                          \
  /* Above the least negative number comes -0. */                                                                      \
  HELPER T above(T x) {                                                                                                \
    const T next = at_place((S)(place(x) + 1)), with_sign = __builtin_elementwise_copysign(next, x);                   \
    return x < 0 ? with_sign : next;                                                                                   \
  }                                                                                                                    \
  /* Of a number that is not 0. */                                                                                     \
  HELPER T nearer_to_zero(T x) { return as_##T((S)(as_##S(x) - 1)); }
#define short_SIGN (-0x8000)
#define int_SIGN INT_MIN
#define long_SIGN LONG_MIN
NEIGHBOURS(half, short)
NEIGHBOURS(float, int)
NEIGHBOURS(double, long)

/* TO is the smaller type; in WIDE both numbers are exact. */
#define DIRECTIONS(TO, FROM)                                                                                           \
  HELPER TO to_##TO##_rtn(FROM x) { TO y = to_##TO##_rte(x); return (FROM)y > x ? below(y) : y; }                      \
  HELPER TO to_##TO##_rtp(FROM x) { TO y = to_##TO##_rte(x); return (FROM)y < x ? above(y) : y; }                      \
  HELPER TO to_##TO##_rtz(FROM x) {                                                                                    \
    TO y = to_##TO##_rte(x);                                                                                           \
    return __builtin_elementwise_abs((FROM)y) > __builtin_elementwise_abs(x) ? nearer_to_zero(y) : y;                  \
  }

HELPER float to_float_rte(double x) { return (float)x; }
DIRECTIONS(float, double)
HELPER half to_half_rte(float x) { return (half)x; }
DIRECTIONS(half, float)

/* By way of float: the last bit of a float that is not exact is made odd, so that rounding it again is rounding once. */
HELPER half to_half_rte(double x) {
  float y = to_float_rtz(x);
  return (half)((double)y != x && x == x ? as_float(as_int(y) | 1) : y);
}
/* Rounding twice in one direction is rounding once. */
HELPER half to_half_rtn(double x) { return to_half_rtn(to_float_rtn(x)); }
HELPER half to_half_rtp(double x) { return to_half_rtp(to_float_rtp(x)); }
HELPER half to_half_rtz(double x) { return to_half_rtz(to_float_rtz(x)); }

/* From integers of 64 bits; LIMIT is the first power of two that they do not reach. */
#define FROM_LONG(TO, FROM, LIMIT)                                                                                     \
  HELPER TO to_##TO##_rte(FROM x) { return (TO)x; }                                                                    \
  HELPER TO to_##TO##_rtn(FROM x) { TO y = (TO)x; return y >= LIMIT || (FROM)y > x ? below(y) : y; }                   \
  HELPER TO to_##TO##_rtp(FROM x) { TO y = (TO)x; return y < LIMIT && (FROM)y < x ? above(y) : y; }                    \
  HELPER TO to_##TO##_rtz(FROM x) { return x < 0 ? to_##TO##_rtp(x) : to_##TO##_rtn(x); }
FROM_LONG(float, long, 0x1p63f)
FROM_LONG(float, ulong, 0x1p64f)
FROM_LONG(double, long, 0x1p63)
FROM_LONG(double, ulong, 0x1p64)

/* A half has overflowed long before: numbers beyond its range are all alike. */
#define HALF_FROM_LONG(MODE)                                                                                           \
  HELPER half to_half_##MODE(long x) {                                                                                 \
    long y = x > 0x100000 ? 0x100000 : x;                                                                              \
    return to_half_##MODE((double)(int)(y < -0x100000 ? -0x100000 : y));                                               \
  }                                                                                                                    \
  HELPER half to_half_##MODE(ulong x) { return to_half_##MODE((double)(int)(x > 0x100000 ? 0x100000 : x)); }
HALF_FROM_LONG(rte)
HALF_FROM_LONG(rtn)
HALF_FROM_LONG(rtp)
HALF_FROM_LONG(rtz)

#endif
