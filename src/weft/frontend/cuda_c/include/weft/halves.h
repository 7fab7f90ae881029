/* What both kinds of numbers of 16 bits have, `half` and `bfloat16`. Included once for each of them, which defines:
   WEFT_H, the number; WEFT_H2, two of them; WEFT_N and WEFT_N2, their names within names; WEFT_RESULT(a, OP, b), an
   operation as it is rounded; WEFT_FUSED(a, b, c). Each number has conversions from and to numbers of C. */

#define WEFT_INLINE inline __host__ __device__ __attribute__((always_inline, nodebug))
#define WEFT_JOIN(A, B, C) A##B##C
#define WEFT_NAME(A, B, C) WEFT_JOIN(A, B, C)

#define WEFT_OPERATOR(OP)                                                                                              \
  WEFT_INLINE WEFT_H operator OP(WEFT_H a, WEFT_H b) { return WEFT_RESULT(a, OP, b); }                                 \
  WEFT_INLINE WEFT_H &operator OP##=(WEFT_H & a, WEFT_H b) { return a = a OP b; }                                      \
  WEFT_INLINE WEFT_H2 operator OP(WEFT_H2 a, WEFT_H2 b) { return WEFT_H2(a.x OP b.x, a.y OP b.y); }                    \
  WEFT_INLINE WEFT_H2 &operator OP##=(WEFT_H2 & a, WEFT_H2 b) { return a = a OP b; }
WEFT_OPERATOR(+)
WEFT_OPERATOR(-)
WEFT_OPERATOR(*)
WEFT_OPERATOR(/)
#undef WEFT_OPERATOR
#define WEFT_COMPARISON(OP)                                                                                            \
  WEFT_INLINE bool operator OP(WEFT_H a, WEFT_H b) { return (float)a OP(float) b; }                                    \
  WEFT_INLINE bool operator OP(WEFT_H2 a, WEFT_H2 b) { return a.x OP b.x && a.y OP b.y; }
WEFT_COMPARISON(==)
WEFT_COMPARISON(!=)
WEFT_COMPARISON(<)
WEFT_COMPARISON(>)
WEFT_COMPARISON(<=)
WEFT_COMPARISON(>=)
#undef WEFT_COMPARISON
WEFT_BOTH unsigned short WEFT_NAME(__, WEFT_N, _as_ushort)(WEFT_H x) { return __builtin_bit_cast(unsigned short, x); }
WEFT_BOTH short WEFT_NAME(__, WEFT_N, _as_short)(WEFT_H x) { return __builtin_bit_cast(short, x); }
WEFT_BOTH WEFT_H WEFT_NAME(__ushort_as_, WEFT_N, )(unsigned short x) { return __builtin_bit_cast(WEFT_H, x); }
WEFT_BOTH WEFT_H WEFT_NAME(__short_as_, WEFT_N, )(short x) { return __builtin_bit_cast(WEFT_H, x); }
WEFT_INLINE WEFT_H operator-(WEFT_H a) {
  return __builtin_bit_cast(WEFT_H, (unsigned short)(__builtin_bit_cast(unsigned short, a) ^ 0x8000));
}
WEFT_INLINE WEFT_H operator+(WEFT_H a) { return a; }
WEFT_INLINE WEFT_H2 operator-(WEFT_H2 a) { return WEFT_H2(-a.x, -a.y); }
WEFT_INLINE WEFT_H2 operator+(WEFT_H2 a) { return a; }
#define WEFT_STEP(OP)                                                                                                  \
  WEFT_INLINE WEFT_H &operator OP##OP(WEFT_H & a) { return a = a OP WEFT_H(1.0f); }                                    \
  WEFT_INLINE WEFT_H operator OP##OP(WEFT_H & a, int) {                                                                \
    const WEFT_H before = a;                                                                                           \
    a = a OP WEFT_H(1.0f);                                                                                             \
    return before;                                                                                                     \
  }
WEFT_STEP(+)
WEFT_STEP(-)
#undef WEFT_STEP

/* Conversions. The next number in a direction is found from the nearest one. */
WEFT_BOTH WEFT_H weft_rounded(WEFT_H near, double x, int up, int zero) {
  const unsigned short bits = __builtin_bit_cast(unsigned short, near);
  const double found = (double)(float)near;
  const bool negative = bits >> 15, outside = negative ? found < x : found > x, inside = negative ? found > x : found < x;
  const bool grows = !zero && (negative ? !up : up);
  return __builtin_bit_cast(WEFT_H, (unsigned short)(grows ? bits + inside : bits - outside));
}
#define WEFT_FROM(T, NAME, EXACT)                                                                                      \
  WEFT_BOTH WEFT_H WEFT_NAME(__##NAME##2, WEFT_N, _rn)(T x) { return WEFT_H(x); }                                      \
  WEFT_BOTH WEFT_H WEFT_NAME(__##NAME##2, WEFT_N, _rz)(T x) { return weft_rounded(WEFT_H(x), EXACT, 0, 1); }           \
  WEFT_BOTH WEFT_H WEFT_NAME(__##NAME##2, WEFT_N, _rd)(T x) { return weft_rounded(WEFT_H(x), EXACT, 0, 0); }           \
  WEFT_BOTH WEFT_H WEFT_NAME(__##NAME##2, WEFT_N, _ru)(T x) { return weft_rounded(WEFT_H(x), EXACT, 1, 0); }
WEFT_FROM(float, float, x)
WEFT_FROM(int, int, x)
WEFT_FROM(unsigned, uint, x)
WEFT_FROM(short, short, x)
WEFT_FROM(unsigned short, ushort, x)
WEFT_FROM(long long, ll, weft_sticky(x))
WEFT_FROM(unsigned long long, ull, weft_sticky(x))
#undef WEFT_FROM
WEFT_BOTH WEFT_H WEFT_NAME(__float2, WEFT_N, )(float x) { return WEFT_H(x); }
WEFT_BOTH WEFT_H WEFT_NAME(__double2, WEFT_N, )(double x) { return WEFT_H(x); }
WEFT_BOTH float WEFT_NAME(__, WEFT_N, 2float)(WEFT_H x) { return (float)x; }
#define WEFT_TO(T, NAME, SUFFIX)                                                                                       \
  WEFT_DEVICE T WEFT_NAME(__, WEFT_N, 2##NAME##SUFFIX)(WEFT_H x) { return __float2##NAME##SUFFIX((float)x); }
#define WEFT_TO_SHORT(T, NAME, LOW, HIGH, SUFFIX)                                                                      \
  WEFT_DEVICE T WEFT_NAME(__, WEFT_N, 2##NAME##SUFFIX)(WEFT_H x) {                                                     \
    return (T)min(max(__float2int##SUFFIX((float)x), LOW), HIGH);                                                      \
  }
#define WEFT_TO_ALL(SUFFIX)                                                                                            \
  WEFT_TO(int, int, SUFFIX)                                                                                            \
  WEFT_TO(unsigned, uint, SUFFIX)                                                                                      \
  WEFT_TO(long long, ll, SUFFIX)                                                                                       \
  WEFT_TO(unsigned long long, ull, SUFFIX)                                                                             \
  WEFT_TO_SHORT(short, short, -32768, 32767, SUFFIX)                                                                   \
  WEFT_TO_SHORT(unsigned short, ushort, 0, 65535, SUFFIX)
WEFT_TO_ALL(_rn)
WEFT_TO_ALL(_rz)
WEFT_TO_ALL(_rd)
WEFT_TO_ALL(_ru)
WEFT_TO_SHORT(signed char, char, -128, 127, _rz)
WEFT_TO_SHORT(unsigned char, uchar, 0, 255, _rz)
#undef WEFT_TO_ALL
#undef WEFT_TO_SHORT
#undef WEFT_TO

/* Pairs. */
WEFT_BOTH WEFT_H2 WEFT_NAME(make_, WEFT_N2, )(WEFT_H x, WEFT_H y) { return WEFT_H2(x, y); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__halves2, WEFT_N2, )(WEFT_H x, WEFT_H y) { return WEFT_H2(x, y); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__, WEFT_NAME(WEFT_N, 2, WEFT_N2), )(WEFT_H x) { return WEFT_H2(x, x); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__float2, WEFT_N2, _rn)(float x) { return WEFT_H2(WEFT_H(x), WEFT_H(x)); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__floats2, WEFT_N2, _rn)(float x, float y) { return WEFT_H2(WEFT_H(x), WEFT_H(y)); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__float22, WEFT_N2, _rn)(float2 x) { return WEFT_H2(WEFT_H(x.x), WEFT_H(x.y)); }
WEFT_BOTH float2 WEFT_NAME(__, WEFT_N2, 2float2)(WEFT_H2 x) { return make_float2((float)x.x, (float)x.y); }
WEFT_BOTH WEFT_H WEFT_NAME(__low2, WEFT_N, )(WEFT_H2 x) { return x.x; }
WEFT_BOTH WEFT_H WEFT_NAME(__high2, WEFT_N, )(WEFT_H2 x) { return x.y; }
WEFT_BOTH float __low2float(WEFT_H2 x) { return (float)x.x; }
WEFT_BOTH float __high2float(WEFT_H2 x) { return (float)x.y; }
WEFT_BOTH WEFT_H2 WEFT_NAME(__low2, WEFT_N2, )(WEFT_H2 x) { return WEFT_H2(x.x, x.x); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__high2, WEFT_N2, )(WEFT_H2 x) { return WEFT_H2(x.y, x.y); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__lows2, WEFT_N2, )(WEFT_H2 a, WEFT_H2 b) { return WEFT_H2(a.x, b.x); }
WEFT_BOTH WEFT_H2 WEFT_NAME(__highs2, WEFT_N2, )(WEFT_H2 a, WEFT_H2 b) { return WEFT_H2(a.y, b.y); }
WEFT_BOTH WEFT_H2 __lowhigh2highlow(WEFT_H2 x) { return WEFT_H2(x.y, x.x); }

/* Arithmetic: of one, and of two, where what follows the name stands behind the 2. */
#define WEFT_BINARY(NAME, SUFFIX, EXPRESSION)                                                                          \
  WEFT_BOTH WEFT_H NAME##SUFFIX(WEFT_H a, WEFT_H b) { return EXPRESSION; }                                             \
  WEFT_BOTH WEFT_H2 NAME##2##SUFFIX(WEFT_H2 a, WEFT_H2 b) {                                                            \
    return WEFT_H2(NAME##SUFFIX(a.x, b.x), NAME##SUFFIX(a.y, b.y));                                                    \
  }
#define WEFT_TERNARY(NAME, SUFFIX, EXPRESSION)                                                                         \
  WEFT_BOTH WEFT_H NAME##SUFFIX(WEFT_H a, WEFT_H b, WEFT_H c) { return EXPRESSION; }                                   \
  WEFT_BOTH WEFT_H2 NAME##2##SUFFIX(WEFT_H2 a, WEFT_H2 b, WEFT_H2 c) {                                                 \
    return WEFT_H2(NAME##SUFFIX(a.x, b.x, c.x), NAME##SUFFIX(a.y, b.y, c.y));                                          \
  }
WEFT_BOTH bool __hisnan(WEFT_H a) { return (float)a != (float)a; }
WEFT_BOTH int __hisinf(WEFT_H a) { return (float)a == __builtin_inff() ? 1 : (float)a == -__builtin_inff() ? -1 : 0; }
WEFT_BOTH WEFT_H2 __hisnan2(WEFT_H2 a) {
  return WEFT_H2(WEFT_H(__hisnan(a.x) ? 1.0f : 0.0f), WEFT_H(__hisnan(a.y) ? 1.0f : 0.0f));
}
WEFT_BOTH WEFT_H weft_saturated(WEFT_H a) { return (float)a >= 1 ? WEFT_H(1.0f) : (float)a > 0 ? a : WEFT_H(0.0f); }
WEFT_BOTH WEFT_H weft_rectified(WEFT_H a) { return (float)a > 0 || __hisnan(a) ? a : WEFT_H(0.0f); }
WEFT_BINARY(__hadd, , a + b)
WEFT_BINARY(__hsub, , a - b)
WEFT_BINARY(__hmul, , a *b)
#pragma clang fp contract(off)
WEFT_BINARY(__hadd, _rn, WEFT_RESULT(a, +, b))
WEFT_BINARY(__hsub, _rn, WEFT_RESULT(a, -, b))
WEFT_BINARY(__hmul, _rn, WEFT_RESULT(a, *, b))
#pragma clang fp contract(WEFT_CONTRACT)
WEFT_BINARY(__hadd, _sat, weft_saturated(a + b))
WEFT_BINARY(__hsub, _sat, weft_saturated(a - b))
WEFT_BINARY(__hmul, _sat, weft_saturated(a *b))
/* Of zeros the one with the sign; NaN where both are, or with `_nan` where one is. */
WEFT_BINARY(__hmax, , __hisnan(a) ? b : __hisnan(b) ? a : a > b || (a == b && !WEFT_NAME(__, WEFT_N, _as_short)(a)) ? a : b)
WEFT_BINARY(__hmin, , __hisnan(a) ? b : __hisnan(b) ? a : a < b || (a == b && WEFT_NAME(__, WEFT_N, _as_short)(a)) ? a : b)
WEFT_BINARY(__hmax, _nan, __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b))
WEFT_BINARY(__hmin, _nan, __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b))
WEFT_TERNARY(__hfma, , WEFT_FUSED(a, b, c))
WEFT_TERNARY(__hfma, _sat, weft_saturated(WEFT_FUSED(a, b, c)))
WEFT_TERNARY(__hfma, _relu, weft_rectified(WEFT_FUSED(a, b, c)))
#undef WEFT_TERNARY
#undef WEFT_BINARY
WEFT_BOTH WEFT_H __hdiv(WEFT_H a, WEFT_H b) { return a / b; }
WEFT_BOTH WEFT_H2 __h2div(WEFT_H2 a, WEFT_H2 b) { return a / b; }
WEFT_BOTH WEFT_H __hneg(WEFT_H a) { return -a; }
WEFT_BOTH WEFT_H2 __hneg2(WEFT_H2 a) { return -a; }
WEFT_BOTH WEFT_H __habs(WEFT_H a) {
  return __builtin_bit_cast(WEFT_H, (unsigned short)(__builtin_bit_cast(unsigned short, a) & 0x7fff));
}
WEFT_BOTH WEFT_H2 __habs2(WEFT_H2 a) { return WEFT_H2(__habs(a.x), __habs(a.y)); }
/* Complex numbers: the product's parts are added one by one. */
WEFT_BOTH WEFT_H2 __hcmadd(WEFT_H2 a, WEFT_H2 b, WEFT_H2 c) {
  return WEFT_H2(__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

/* Comparisons; those with a `u` hold of NaN, too. */
#define WEFT_TEST_OF(NAME, HOLDS)                                                                                      \
  WEFT_BOTH bool __h##NAME(WEFT_H a, WEFT_H b) { return HOLDS; }                                                       \
  WEFT_BOTH WEFT_H2 __h##NAME##2(WEFT_H2 a, WEFT_H2 b) {                                                               \
    return WEFT_H2(WEFT_H(__h##NAME(a.x, b.x) ? 1.0f : 0.0f), WEFT_H(__h##NAME(a.y, b.y) ? 1.0f : 0.0f));              \
  }                                                                                                                    \
  WEFT_BOTH unsigned __h##NAME##2_mask(WEFT_H2 a, WEFT_H2 b) {                                                         \
    return (__h##NAME(a.x, b.x) ? 0xffffu : 0u) | (__h##NAME(a.y, b.y) ? 0xffff0000u : 0u);                            \
  }                                                                                                                    \
  WEFT_BOTH bool __hb##NAME##2(WEFT_H2 a, WEFT_H2 b) { return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y); }
#define WEFT_TEST(NAME, OP)                                                                                            \
  WEFT_TEST_OF(NAME, a OP b && !__hisnan(a) && !__hisnan(b))                                                           \
  WEFT_TEST_OF(NAME##u, a OP b || __hisnan(a) || __hisnan(b))
WEFT_TEST(eq, ==)
WEFT_TEST(ne, !=)
WEFT_TEST(lt, <)
WEFT_TEST(gt, >)
WEFT_TEST(le, <=)
WEFT_TEST(ge, >=)
#undef WEFT_TEST
#undef WEFT_TEST_OF

#define WEFT_FUNCTION(NAME, EXPRESSION)                                                                                \
  WEFT_DEVICE WEFT_H h##NAME(WEFT_H a) {                                                                               \
    const float x = (float)a;                                                                                          \
    return WEFT_H((float)(EXPRESSION));                                                                                \
  }                                                                                                                    \
  WEFT_DEVICE WEFT_H2 h2##NAME(WEFT_H2 a) { return WEFT_H2(h##NAME(a.x), h##NAME(a.y)); }
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
WEFT_FUNCTION(tanh_approx, tanhf(x))
#undef WEFT_FUNCTION

#define WEFT_SHUFFLE(NAME, N)                                                                                          \
  WEFT_CONVERGENT WEFT_H NAME(unsigned mask, WEFT_H x, N n, int width = 32) {                                          \
    return __builtin_bit_cast(WEFT_H, (unsigned short)NAME(mask, (int)__builtin_bit_cast(unsigned short, x), n, width)); \
  }                                                                                                                    \
  WEFT_CONVERGENT WEFT_H2 NAME(unsigned mask, WEFT_H2 x, N n, int width = 32) {                                        \
    return weft_bits<WEFT_H2>(NAME(mask, weft_bits<int>(x), n, width));                                                \
  }
WEFT_SHUFFLE(__shfl_sync, int)
WEFT_SHUFFLE(__shfl_xor_sync, int)
WEFT_SHUFFLE(__shfl_down_sync, unsigned)
WEFT_SHUFFLE(__shfl_up_sync, unsigned)
#undef WEFT_SHUFFLE

/* Swapped until nobody was in between: there is no addition of such numbers at memory. */
WEFT_DEVICE WEFT_H atomicAdd(WEFT_H *p, WEFT_H x) {
  unsigned short *place = (unsigned short *)p, old = __atomic_load_n(place, __ATOMIC_RELAXED), expected;
  do {
    expected = old;
    old = atomicCAS(place, expected, __builtin_bit_cast(unsigned short, __builtin_bit_cast(WEFT_H, expected) + x));
  } while (old != expected);
  return __builtin_bit_cast(WEFT_H, old);
}
WEFT_DEVICE WEFT_H2 atomicAdd(WEFT_H2 *p, WEFT_H2 x) {
  const WEFT_H a = atomicAdd(&p->x, x.x), b = atomicAdd(&p->y, x.y);
  return WEFT_H2(a, b);
}

#undef WEFT_NAME
#undef WEFT_JOIN
#undef WEFT_INLINE
