/* Mathematics of CUDA C++: functions of the C library by their names, which the vectorizer finds in libraries of vector
 * functions, and what CUDA has beside them. */
#ifndef WEFT_CUDA_MATH_H
#define WEFT_CUDA_MATH_H

/* clang before version 21 has them under these names. */
#if !__has_builtin(__builtin_elementwise_maxnum)
#define __builtin_elementwise_maxnum __builtin_elementwise_max
#define __builtin_elementwise_minnum __builtin_elementwise_min
#endif

/* A function of C, for floats, doubles, and under the name with f. */
#define WEFT_C_1(NAME)                                                                                                 \
  WEFT_PRIMITIVE float weft_c_##NAME##f(float) __asm__(#NAME "f") __attribute__((const));                              \
  WEFT_PRIMITIVE double weft_c_##NAME(double) __asm__(#NAME) __attribute__((const));                                   \
  WEFT_OVERLOADS_1(NAME, weft_c_##NAME##f, weft_c_##NAME)
#define WEFT_C_2(NAME)                                                                                                 \
  WEFT_PRIMITIVE float weft_c_##NAME##f(float, float) __asm__(#NAME "f") __attribute__((const));                       \
  WEFT_PRIMITIVE double weft_c_##NAME(double, double) __asm__(#NAME) __attribute__((const));                           \
  WEFT_OVERLOADS_2(NAME, weft_c_##NAME##f, weft_c_##NAME)
/* Integers are taken as doubles, as C++ has it. */
#define WEFT_OVERLOADS_1(NAME, FLOAT, DOUBLE)                                                                          \
  WEFT_DEVICE float NAME##f(float x) { return FLOAT(x); }                                                              \
  WEFT_DEVICE float NAME(float x) { return FLOAT(x); }                                                                 \
  WEFT_DEVICE double NAME(double x) { return DOUBLE(x); }                                                              \
  template <class T, class = weft_integer<T>> WEFT_DEVICE double NAME(T x) { return DOUBLE((double)x); }
#define WEFT_OVERLOADS_2(NAME, FLOAT, DOUBLE)                                                                          \
  WEFT_DEVICE float NAME##f(float x, float y) { return FLOAT(x, y); }                                                  \
  WEFT_DEVICE float NAME(float x, float y) { return FLOAT(x, y); }                                                     \
  WEFT_DEVICE double NAME(double x, double y) { return DOUBLE(x, y); }                                                 \
  template <class T, class U, class = weft_mixed<T, U>> WEFT_DEVICE double NAME(T x, U y) {                            \
    return DOUBLE((double)x, (double)y);                                                                               \
  }

template <bool, class> struct weft_if {};
template <class T> struct weft_if<true, T> {
  typedef T type;
};
template <class T>
inline constexpr bool weft_is_float = __is_same(T, float) || __is_same(T, double);
template <class T> using weft_integer = typename weft_if<__is_integral(T), void>::type;
template <class T, class U>
using weft_mixed = typename weft_if<!__is_same(T, U) && (weft_is_float<T> || __is_integral(T)) &&
                                        (weft_is_float<U> || __is_integral(U)),
                                    void>::type;

WEFT_C_1(acos)
WEFT_C_1(acosh)
WEFT_C_1(asin)
WEFT_C_1(asinh)
WEFT_C_1(atan)
WEFT_C_1(atanh)
WEFT_C_1(cbrt)
WEFT_C_1(cos)
WEFT_C_1(cosh)
WEFT_C_1(erf)
WEFT_C_1(erfc)
WEFT_C_1(exp)
WEFT_C_1(exp2)
WEFT_C_1(exp10)
WEFT_C_1(expm1)
WEFT_C_1(j0)
WEFT_C_1(j1)
WEFT_C_1(lgamma)
WEFT_C_1(log)
WEFT_C_1(log10)
WEFT_C_1(log1p)
WEFT_C_1(log2)
WEFT_C_1(logb)
WEFT_C_1(sin)
WEFT_C_1(sinh)
WEFT_C_1(tan)
WEFT_C_1(tanh)
WEFT_C_1(tgamma)
WEFT_C_1(y0)
WEFT_C_1(y1)
WEFT_C_2(atan2)
WEFT_C_2(fdim)
WEFT_C_2(fmod)
WEFT_C_2(hypot)
WEFT_C_2(nextafter)
WEFT_C_2(pow)
WEFT_C_2(remainder)
WEFT_OVERLOADS_1(ceil, __builtin_elementwise_ceil, __builtin_elementwise_ceil)
WEFT_OVERLOADS_1(fabs, __builtin_elementwise_abs, __builtin_elementwise_abs)
WEFT_OVERLOADS_1(floor, __builtin_elementwise_floor, __builtin_elementwise_floor)
WEFT_OVERLOADS_1(nearbyint, __builtin_elementwise_nearbyint, __builtin_elementwise_nearbyint)
WEFT_OVERLOADS_1(rint, __builtin_elementwise_rint, __builtin_elementwise_rint)
WEFT_OVERLOADS_1(round, __builtin_elementwise_round, __builtin_elementwise_round)
WEFT_OVERLOADS_1(sqrt, __builtin_elementwise_sqrt, __builtin_elementwise_sqrt)
WEFT_OVERLOADS_1(trunc, __builtin_elementwise_trunc, __builtin_elementwise_trunc)
WEFT_OVERLOADS_2(copysign, __builtin_elementwise_copysign, __builtin_elementwise_copysign)
WEFT_OVERLOADS_2(fmax, __builtin_elementwise_maxnum, __builtin_elementwise_maxnum)
WEFT_OVERLOADS_2(fmin, __builtin_elementwise_minnum, __builtin_elementwise_minnum)

WEFT_DEVICE float fmaf(float a, float b, float c) { return __builtin_elementwise_fma(a, b, c); }
WEFT_DEVICE float fma(float a, float b, float c) { return __builtin_elementwise_fma(a, b, c); }
WEFT_DEVICE double fma(double a, double b, double c) { return __builtin_elementwise_fma(a, b, c); }
WEFT_DEVICE float abs(float x) { return __builtin_elementwise_abs(x); }
WEFT_DEVICE double abs(double x) { return __builtin_elementwise_abs(x); }
WEFT_DEVICE float min(float a, float b) { return __builtin_elementwise_minnum(a, b); }
WEFT_DEVICE float max(float a, float b) { return __builtin_elementwise_maxnum(a, b); }
WEFT_DEVICE double min(double a, double b) { return __builtin_elementwise_minnum(a, b); }
WEFT_DEVICE double max(double a, double b) { return __builtin_elementwise_maxnum(a, b); }
WEFT_DEVICE double min(float a, double b) { return __builtin_elementwise_minnum((double)a, b); }
WEFT_DEVICE double min(double a, float b) { return __builtin_elementwise_minnum(a, (double)b); }
WEFT_DEVICE double max(float a, double b) { return __builtin_elementwise_maxnum((double)a, b); }
WEFT_DEVICE double max(double a, float b) { return __builtin_elementwise_maxnum(a, (double)b); }
static __inline__ __host__ __attribute__((always_inline, nodebug)) float min(float a, float b) { return b < a ? b : a; }
static __inline__ __host__ __attribute__((always_inline, nodebug)) float max(float a, float b) { return a < b ? b : a; }
static __inline__ __host__ __attribute__((always_inline, nodebug)) double min(double a, double b) { return b < a ? b : a; }
static __inline__ __host__ __attribute__((always_inline, nodebug)) double max(double a, double b) { return a < b ? b : a; }

#define WEFT_CLASSES(T)                                                                                                \
  WEFT_DEVICE bool isnan(T x) { return __builtin_isnan(x); }                                                           \
  WEFT_DEVICE bool isinf(T x) { return __builtin_isinf(x); }                                                           \
  WEFT_DEVICE bool isfinite(T x) { return __builtin_isfinite(x); }                                                     \
  WEFT_DEVICE bool signbit(T x) { return __builtin_signbit(x); }
WEFT_CLASSES(float)
WEFT_CLASSES(double)
#undef WEFT_CLASSES
WEFT_DEVICE int __finitef(float x) { return __builtin_isfinite(x); }
WEFT_DEVICE int __isinff(float x) { return __builtin_isinf(x); }
WEFT_DEVICE double nan(const char *) { return __builtin_nan(""); }
WEFT_DEVICE float nanf(const char *) { return __builtin_nanf(""); }
WEFT_DEVICE int __isnanf(float x) { return __builtin_isnan(x); }
WEFT_DEVICE int __signbitf(float x) { return __builtin_signbit(x); }

/* What nvcc's programs have of the C library's <math.h>, as glibc writes it: a program that includes that defines the
 * same again. */
#define INFINITY (__builtin_inff ())
#define NAN (__builtin_nanf (""))
#define HUGE_VAL (__builtin_huge_val ())
#define HUGE_VALF (__builtin_huge_valf ())
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

/* Results that are integers, and such that come through pointers. */
#define WEFT_TO_INTEGER(R, NAME)                                                                                       \
  WEFT_PRIMITIVE R weft_c_##NAME##f(float) __asm__(#NAME "f") __attribute__((const));                                  \
  WEFT_PRIMITIVE R weft_c_##NAME(double) __asm__(#NAME) __attribute__((const));                                        \
  WEFT_DEVICE R NAME##f(float x) { return weft_c_##NAME##f(x); }                                                       \
  WEFT_DEVICE R NAME(float x) { return weft_c_##NAME##f(x); }                                                          \
  WEFT_DEVICE R NAME(double x) { return weft_c_##NAME(x); }
WEFT_TO_INTEGER(int, ilogb)
WEFT_TO_INTEGER(long, lrint)
WEFT_TO_INTEGER(long long, llrint)
WEFT_TO_INTEGER(long, lround)
WEFT_TO_INTEGER(long long, llround)
#undef WEFT_TO_INTEGER
#define WEFT_SCALED(NAME, N)                                                                                           \
  WEFT_PRIMITIVE float weft_c_##NAME##f(float, N) __asm__(#NAME "f") __attribute__((const));                           \
  WEFT_PRIMITIVE double weft_c_##NAME(double, N) __asm__(#NAME) __attribute__((const));                                \
  WEFT_DEVICE float NAME##f(float x, N n) { return weft_c_##NAME##f(x, n); }                                           \
  WEFT_DEVICE float NAME(float x, N n) { return weft_c_##NAME##f(x, n); }                                              \
  WEFT_DEVICE double NAME(double x, N n) { return weft_c_##NAME(x, n); }
WEFT_SCALED(ldexp, int)
WEFT_SCALED(scalbn, int)
WEFT_SCALED(scalbln, long)
#undef WEFT_SCALED
#define WEFT_OF_ORDER(NAME)                                                                                            \
  WEFT_PRIMITIVE float weft_c_##NAME##f(int, float) __asm__(#NAME "f") __attribute__((const));                         \
  WEFT_PRIMITIVE double weft_c_##NAME(int, double) __asm__(#NAME) __attribute__((const));                              \
  WEFT_DEVICE float NAME##f(int n, float x) { return weft_c_##NAME##f(n, x); }                                         \
  WEFT_DEVICE double NAME(int n, double x) { return weft_c_##NAME(n, x); }
WEFT_OF_ORDER(jn)
WEFT_OF_ORDER(yn)
#undef WEFT_OF_ORDER

#define WEFT_PARTS(T, NAME)                                                                                            \
  WEFT_DEVICE T NAME(T x, T *whole) {                                                                                  \
    const T w = __builtin_elementwise_trunc(x);                                                                        \
    *whole = w;                                                                                                        \
    return __builtin_elementwise_copysign(__builtin_isinf(x) ? (T)0 : x - w, x);                                       \
  }
WEFT_PARTS(float, modff)
WEFT_PARTS(float, modf)
WEFT_PARTS(double, modf)
#undef WEFT_PARTS
/* The exponent of a number that is neither zero, infinite nor NaN; of less than the least normal one, of its multiple. */
WEFT_DEVICE float frexpf(float x, int *exponent) {
  const bool small = __builtin_fabsf(x) < 0x1p-126f;
  const int bits = weft_bits<int>(small ? x * 0x1p24f : x);
  const bool special = x == 0 || !__builtin_isfinite(x);
  *exponent = special ? 0 : (bits >> 23 & 255) - 126 - (small ? 24 : 0);
  return special ? x : weft_bits<float>((bits & (int)0x807fffff) | 0x3f000000);
}
WEFT_DEVICE double frexp(double x, int *exponent) {
  const bool small = __builtin_fabs(x) < 0x1p-1022;
  const long long bits = weft_bits<long long>(small ? x * 0x1p53 : x);
  const bool special = x == 0 || !__builtin_isfinite(x);
  *exponent = special ? 0 : (int)(bits >> 52 & 2047) - 1022 - (small ? 53 : 0);
  return special ? x : weft_bits<double>((bits & (long long)0x800fffffffffffffull) | 0x3fe0000000000000);
}
WEFT_DEVICE float frexp(float x, int *exponent) { return frexpf(x, exponent); }
WEFT_DEVICE void sincosf(float x, float *s, float *c) {
  *s = sinf(x);
  *c = cosf(x);
}
WEFT_DEVICE void sincos(double x, double *s, double *c) {
  *s = sin(x);
  *c = cos(x);
}
WEFT_DEVICE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }

/* What C has not. The distance to the nearest even number is exact. */
#define WEFT_OF_PI(T, F, SINPI, COSPI, SINCOSPI)                                                                       \
  WEFT_DEVICE T SINPI(T x) {                                                                                           \
    const T r = x - 2 * __builtin_elementwise_rint(x * (T)0.5);                                                        \
    const T near = __builtin_elementwise_abs(r) > (T)0.5 ? __builtin_elementwise_copysign((T)1, r) - r : r;            \
    return sin(near * (T)3.14159265358979323846);                                                                      \
  }                                                                                                                    \
  WEFT_DEVICE T COSPI(T x) {                                                                                           \
    const T r = __builtin_elementwise_abs(x - 2 * __builtin_elementwise_rint(x * (T)0.5));                             \
    return sin(((T)0.5 - r) * (T)3.14159265358979323846);                                                              \
  }                                                                                                                    \
  WEFT_DEVICE void SINCOSPI(T x, T *s, T *c) {                                                                         \
    *s = SINPI(x);                                                                                                     \
    *c = COSPI(x);                                                                                                     \
  }
WEFT_OF_PI(float, f, sinpif, cospif, sincospif)
WEFT_OF_PI(double, , sinpi, cospi, sincospi)
#undef WEFT_OF_PI
WEFT_DEVICE float sinpi(float x) { return sinpif(x); }
WEFT_DEVICE float cospi(float x) { return cospif(x); }

WEFT_DEVICE double rsqrt(double x) { return 1.0 / sqrt(x); }
WEFT_DEVICE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
WEFT_DEVICE float rsqrt(float x) { return 1.0f / sqrtf(x); }
WEFT_DEVICE double rcbrt(double x) { return 1.0 / cbrt(x); }
WEFT_DEVICE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
WEFT_DEVICE double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
WEFT_DEVICE float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
WEFT_DEVICE double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
WEFT_DEVICE float norm3df(float a, float b, float c) { return hypotf(hypotf(a, b), c); }
WEFT_DEVICE double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
WEFT_DEVICE float norm4df(float a, float b, float c, float d) { return hypotf(hypotf(a, b), hypotf(c, d)); }
WEFT_DEVICE double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
WEFT_DEVICE float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
WEFT_DEVICE double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
WEFT_DEVICE float rnorm4df(float a, float b, float c, float d) { return 1.0f / norm4df(a, b, c, d); }
WEFT_DEVICE float fdividef(float x, float y) { return x / y; }
WEFT_DEVICE double fdivide(double x, double y) { return x / y; }
WEFT_DEVICE double normcdf(double x) { return 0.5 * erfc(x * -0.70710678118654752440); }
WEFT_DEVICE float normcdff(float x) { return (float)normcdf((double)x); }
WEFT_DEVICE double erfcx(double x) {
  const double square = x * x;
  return x < 25 ? exp(square) * erfc(x) : 0.56418958354775628695 / x * (1 - 0.5 / square * (1 - 1.5 / square));
}
WEFT_DEVICE float erfcxf(float x) { return (float)erfcx((double)x); }
/* Winitzki's approximation, then Halley's iteration, of what is `complement` away from 1 where that is small. */
WEFT_DEVICE double weft_inverse_erf(double x, double complement) {
  const double l = log(complement * (2 - complement)), t = 4.33074675 + 0.5 * l;
  double y = __builtin_copysign(sqrt(sqrt(t * t - l * 6.80272109) - t), x);
#pragma unroll
  for (int k = 0; k < 3; k++) {
    const double error = complement < 0.5 ? complement - erfc(__builtin_fabs(y)) : erf(__builtin_fabs(y)) - __builtin_fabs(x);
    const double step = error / (1.12837916709551257390 * exp(-y * y));
    y = __builtin_copysign(__builtin_fabs(y) - step / (1 + __builtin_fabs(y) * step), x);
  }
  return x == 0 ? x : complement == 0 ? __builtin_copysign(__builtin_inf(), x) : y;
}
WEFT_DEVICE double erfinv(double x) { return weft_inverse_erf(x, 1 - __builtin_fabs(x)); }
WEFT_DEVICE float erfinvf(float x) { return (float)erfinv((double)x); }
WEFT_DEVICE double erfcinv(double x) { return weft_inverse_erf(1 - x, x < 1 ? x : 2 - x); }
WEFT_DEVICE float erfcinvf(float x) { return (float)erfcinv((double)x); }
WEFT_DEVICE double normcdfinv(double x) { return -1.41421356237309504880 * erfcinv(2 * x); }
WEFT_DEVICE float normcdfinvf(float x) { return (float)normcdfinv((double)x); }

/* Fast forms: no less exact than the others. */
WEFT_DEVICE float __sinf(float x) { return sinf(x); }
WEFT_DEVICE float __cosf(float x) { return cosf(x); }
WEFT_DEVICE float __tanf(float x) { return tanf(x); }
WEFT_DEVICE float __tanhf(float x) { return tanhf(x); }
WEFT_DEVICE float __expf(float x) { return expf(x); }
WEFT_DEVICE float __exp10f(float x) { return exp10f(x); }
WEFT_DEVICE float __logf(float x) { return logf(x); }
WEFT_DEVICE float __log2f(float x) { return log2f(x); }
WEFT_DEVICE float __log10f(float x) { return log10f(x); }
WEFT_DEVICE float __powf(float x, float y) { return powf(x, y); }
WEFT_DEVICE float __fdividef(float x, float y) { return x / y; }
WEFT_DEVICE void __sincosf(float x, float *s, float *c) { sincosf(x, s, c); }
WEFT_DEVICE float __saturatef(float x) { return x >= 1 ? 1.0f : x > 0 ? x : 0.0f; }
WEFT_DEVICE float saturate(float x) { return __saturatef(x); }

/* To nearest; then, from the sign of what is left over, towards zero, up and down. */
#define WEFT_ROUNDED(T, PREFIX, BITS)                                                                                  \
  WEFT_DEVICE T weft_step(T x, bool up) {                                                                              \
    const BITS bits = weft_bits<BITS>(x);                                                                              \
    const bool away = (x > 0) == up;                                                                                   \
    return x == 0 ? (up ? weft_bits<T>((BITS)1) : -weft_bits<T>((BITS)1)) : weft_bits<T>(bits + (away ? 1 : -1));      \
  }                                                                                                                    \
  WEFT_DEVICE T weft_rz(T x, T left) {                                                                                 \
    return left == 0 || (left > 0) == (x > 0) || !__builtin_isfinite(x) || x == 0 ? x : weft_step(x, left > 0);        \
  }                                                                                                                    \
  WEFT_DEVICE T weft_ru(T x, T left) { return left > 0 && __builtin_isfinite(x) ? weft_step(x, true) : x; }            \
  WEFT_DEVICE T weft_rd(T x, T left) { return left < 0 && __builtin_isfinite(x) ? weft_step(x, false) : x; }           \
  WEFT_DEVICE T weft_left_of_sum(T a, T b, T s) {                                                                      \
    const T part = s - a;                                                                                              \
    return (a - (s - part)) + (b - part);                                                                              \
  }
#define WEFT_MODES(T, NAME, PARAMETERS, RESULT, LEFT)                                                                  \
  WEFT_DEVICE T NAME##_rn PARAMETERS { return RESULT; }                                                                \
  WEFT_DEVICE T NAME##_rz PARAMETERS {                                                                                 \
    const T r = RESULT;                                                                                                \
    return weft_rz(r, LEFT);                                                                                           \
  }                                                                                                                    \
  WEFT_DEVICE T NAME##_ru PARAMETERS {                                                                                 \
    const T r = RESULT;                                                                                                \
    return weft_ru(r, LEFT);                                                                                           \
  }                                                                                                                    \
  WEFT_DEVICE T NAME##_rd PARAMETERS {                                                                                 \
    const T r = RESULT;                                                                                                \
    return weft_rd(r, LEFT);                                                                                           \
  }
#define WEFT_ARITHMETIC(T, F, D)                                                                                       \
  WEFT_MODES(T, __##F##add, (T a, T b), a + b, weft_left_of_sum(a, b, r))                                              \
  WEFT_MODES(T, __##F##sub, (T a, T b), a - b, weft_left_of_sum(a, -b, r))                                             \
  WEFT_MODES(T, __##F##mul, (T a, T b), a *b, __builtin_elementwise_fma(a, b, -r))                                     \
  WEFT_MODES(T, __##F##div, (T a, T b), a / b, -__builtin_elementwise_fma(r, b, -a) * (b < 0 ? (T)-1 : (T)1))          \
  WEFT_MODES(T, __##F##sqrt, (T a), __builtin_elementwise_sqrt(a), -__builtin_elementwise_fma(r, r, -a))               \
  WEFT_MODES(T, __##F##rcp, (T a), (T)1 / a, -__builtin_elementwise_fma(r, a, (T)-1) * (a < 0 ? (T)-1 : (T)1))
#pragma clang fp contract(off)
WEFT_ROUNDED(float, f, int)
WEFT_ROUNDED(double, d, long long)
WEFT_ARITHMETIC(float, f, )
WEFT_ARITHMETIC(double, d, )
/* A float's product is exact in double; its sum with another, corrected by what is left over, is rounded once. */
WEFT_DEVICE float weft_left_of_fma(float a, float b, float c, float r) {
  const double product = (double)a * b, sum = product + c;
  const double part = sum - product, left = (product - (sum - part)) + (c - part);
  const double rest = sum - r;
  return rest != 0 ? (rest > 0 ? 1.0f : -1.0f) : left > 0 ? 1.0f : left < 0 ? -1.0f : 0.0f;
}
WEFT_MODES(float, __fmaf, (float a, float b, float c), __builtin_elementwise_fma(a, b, c), weft_left_of_fma(a, b, c, r))
WEFT_DEVICE double weft_left_of_fma(double a, double b, double c, double r) {
  const double product = a * b, low = __builtin_elementwise_fma(a, b, -product), sum = product + c;
  const double part = sum - product, left = (product - (sum - part)) + (c - part);
  const double rest = (sum - r) + (left + low);
  return rest;
}
WEFT_MODES(double, __fma, (double a, double b, double c), __builtin_elementwise_fma(a, b, c), weft_left_of_fma(a, b, c, r))
WEFT_DEVICE float __frsqrt_rn(float x) { return (float)(1.0 / __builtin_elementwise_sqrt((double)x)); }
#pragma clang fp contract(WEFT_CONTRACT)
#undef WEFT_ARITHMETIC
#undef WEFT_MODES
#undef WEFT_ROUNDED

/* Conversions: numbers beyond the integers become the nearest one, NaN becomes 0. */
#define WEFT_TO(F, FNAME, I, INAME, LOW, HIGH)                                                                         \
  WEFT_DEVICE I weft_clamped_##FNAME##2##INAME(F x) {                                                                  \
    return x >= (F)HIGH * 2 ? (I)((((I)1 << (sizeof(I) * 8 - 2)) - 1) * 2 + 1 + (LOW == 0 ? (I)1 << (sizeof(I) * 8 - 1) : 0)) \
           : x <= (F)LOW    ? (I)LOW                                                                                   \
           : x != x         ? (I)0                                                                                     \
                            : (I)x;                                                                                    \
  }                                                                                                                    \
  WEFT_DEVICE I __##FNAME##2##INAME##_rn(F x) { return weft_clamped_##FNAME##2##INAME(__builtin_elementwise_rint(x)); } \
  WEFT_DEVICE I __##FNAME##2##INAME##_rz(F x) { return weft_clamped_##FNAME##2##INAME(__builtin_elementwise_trunc(x)); } \
  WEFT_DEVICE I __##FNAME##2##INAME##_ru(F x) { return weft_clamped_##FNAME##2##INAME(__builtin_elementwise_ceil(x)); } \
  WEFT_DEVICE I __##FNAME##2##INAME##_rd(F x) { return weft_clamped_##FNAME##2##INAME(__builtin_elementwise_floor(x)); }
#define WEFT_TO_ALL(F, FNAME)                                                                                          \
  WEFT_TO(F, FNAME, int, int, (-2147483647 - 1), 0x1p30)                                                               \
  WEFT_TO(F, FNAME, unsigned int, uint, 0, 0x1p31)                                                                     \
  WEFT_TO(F, FNAME, long long, ll, (-9223372036854775807ll - 1), 0x1p62)                                               \
  WEFT_TO(F, FNAME, unsigned long long, ull, 0, 0x1p63)
WEFT_TO_ALL(float, float)
WEFT_TO_ALL(double, double)
#undef WEFT_TO_ALL
#undef WEFT_TO
/* From integers, and from double to float: exact in double where 53 bits are enough; else by the sign of the rest. */
#define WEFT_FROM(I, INAME, F, FNAME, WIDE)                                                                            \
  WEFT_DEVICE F __##INAME##2##FNAME##_rn(I x) { return (F)x; }                                                         \
  WEFT_DEVICE F __##INAME##2##FNAME##_rz(I x) {                                                                        \
    const F r = (F)x;                                                                                                  \
    const WIDE left = (WIDE)x - (WIDE)r;                                                                               \
    return weft_rz(r, (F)(left > 0 ? 1 : left < 0 ? -1 : 0));                                                          \
  }                                                                                                                    \
  WEFT_DEVICE F __##INAME##2##FNAME##_ru(I x) {                                                                        \
    const F r = (F)x;                                                                                                  \
    return (WIDE)r < (WIDE)x ? weft_step(r, true) : r;                                                                 \
  }                                                                                                                    \
  WEFT_DEVICE F __##INAME##2##FNAME##_rd(I x) {                                                                        \
    const F r = (F)x;                                                                                                  \
    return (WIDE)r > (WIDE)x ? weft_step(r, false) : r;                                                                \
  }
WEFT_FROM(int, int, float, float, double)
WEFT_FROM(unsigned int, uint, float, float, double)
WEFT_FROM(long long, ll, float, float, __int128)
WEFT_FROM(unsigned long long, ull, float, float, __int128)
WEFT_FROM(long long, ll, double, double, __int128)
WEFT_FROM(unsigned long long, ull, double, double, __int128)
WEFT_FROM(double, double, float, float, double)
#undef WEFT_FROM
WEFT_DEVICE double __int2double_rn(int x) { return x; }
WEFT_DEVICE double __uint2double_rn(unsigned int x) { return x; }

#undef WEFT_OVERLOADS_2
#undef WEFT_OVERLOADS_1
#undef WEFT_C_2
#undef WEFT_C_1
#endif
