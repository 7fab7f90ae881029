/* Math functions (OpenCL C 1.2, 6.12.2; 3.0, 6.15.2) that round. Those that the C library has are called there, by the
 * names that the vectorizer finds in libraries of vector functions; the others are without branches. Halves are
 * computed as floats. */

#define C_NAME(NAME) NAME##_of_c
#define FROM_C(NAME)                                                                                                   \
  float BUILTIN C_NAME(NAME)(float x) __attribute__((const)) EXTERN(#NAME "f");                                        \
  double BUILTIN C_NAME(NAME)(double x) __attribute__((const)) EXTERN(#NAME);                                          \
  float PURE NAME(float x) { return C_NAME(NAME)(x); }                                                                 \
  double PURE NAME(double x) { return C_NAME(NAME)(x); }                                                               \
  half PURE NAME(half x) { return (half)NAME((float)x); }
#define FROM_C_2(NAME)                                                                                                 \
  float BUILTIN C_NAME(NAME)(float x, float y) __attribute__((const)) EXTERN(#NAME "f");                               \
  double BUILTIN C_NAME(NAME)(double x, double y) __attribute__((const)) EXTERN(#NAME);                                \
  float PURE NAME(float x, float y) { return C_NAME(NAME)(x, y); }                                                     \
  double PURE NAME(double x, double y) { return C_NAME(NAME)(x, y); }                                                  \
  half PURE NAME(half x, half y) { return (half)NAME((float)x, (float)y); }

FROM_C(acos)
FROM_C(acosh)
FROM_C(asin)
FROM_C(asinh)
FROM_C(atan)
FROM_C(atanh)
FROM_C(cos)
FROM_C(cosh)
FROM_C(erf)
FROM_C(erfc)
FROM_C(exp2)
FROM_C(log2)
FROM_C(log10)
FROM_C(log1p)
FROM_C(lgamma)
FROM_C(sin)
FROM_C(sinh)
FROM_C(tan)
FROM_C(tanh)
FROM_C(tgamma)
FROM_C_2(atan2)
FROM_C_2(hypot)

double BUILTIN C_NAME(log)(double x) __attribute__((const)) EXTERN("log");
double PURE log(double x) { return C_NAME(log)(x); }
half PURE log(half x) { return (half)log((float)x); }
double BUILTIN C_NAME(cbrt)(double x) __attribute__((const)) EXTERN("cbrt");
/* libmvec's is off by up to 2.9 units in the last place, and 2 are allowed. A third of the exponent is a first guess;
 * Halley's iteration in double makes 5 bits 15, and these 45. */
float PURE cbrt(float x) {
  const float a = __builtin_fabsf(x), y = a < FLT_MIN ? a * 0x1p24f : a;
  double guess = as_float((int)((uint)as_int(y) / 3) + 0x2a5119f2), d = y;
  double cube = guess * guess * guess;
  guess = guess * (d + d + cube) / (d + cube + cube);
  cube = guess * guess * guess;
  guess = guess * (d + d + cube) / (d + cube + cube);
  const float root = (float)(a < FLT_MIN ? guess * 0x1p-8 : guess);
  return (x == 0) | (x - x != 0) ? x : __builtin_copysignf(root, x);
}
half PURE cbrt(half x) { return (half)cbrt((float)x); }
/* Of subnormal numbers, libmvec's is off by more than the 2 units that are allowed (2.09). */
double PURE cbrt(double x) {
  const bool small = __builtin_fabs(x) < DBL_MIN;
  return C_NAME(cbrt)(x * (small ? 0x1p54 : 1.0)) * (small ? 0x1p-18 : 1.0);
}
float BUILTIN C_NAME(exp)(float x) __attribute__((const)) EXTERN("expf");
float PURE exp(float x) { return C_NAME(exp)(x); }
half PURE exp(half x) { return (half)exp((float)x); }
float BUILTIN C_NAME(expm1)(float x) __attribute__((const)) EXTERN("expm1f");
float PURE expm1(float x) { return C_NAME(expm1)(x); }
half PURE expm1(half x) { return (half)expm1((float)x); }
double BUILTIN C_NAME(exp10)(double x) __attribute__((const)) EXTERN("exp10");
double PURE exp10(double x) { return C_NAME(exp10)(x); }

/* libmvec's log and exp10 of floats and exp and expm1 of doubles are off by more than the 3 units in the last place that
 * are allowed (3.9, 3.8, 3.01 and 2.93 were seen). */
#pragma clang fp contract(on)

#ifdef WEFT_RELAXED_MATH
float BUILTIN C_NAME(log)(float x) __attribute__((const)) EXTERN("logf");
float PURE log(float x) { return C_NAME(log)(x); }
float BUILTIN C_NAME(exp10)(float x) __attribute__((const)) EXTERN("exp10f");
float PURE exp10(float x) { return C_NAME(exp10)(x); }
#else
/* x = m 2^e with m between the roots of 1/2 and 2; log(m) is a polynomial of m - 1. */
float PURE log(float x) {
  const bool small = x < FLT_MIN;
  const float y = small ? x * 0x1p25f : x;
  const int shifted = as_int(y) - 0x3f3504f3;
  const float e = (float)((shifted >> 23) - (small ? 25 : 0));
  const float f = as_float((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const float t = f * f;
  float p = -0.114797338f + f * 0.0697161147f;
  p = 0.116854199f + f * p;
  p = -0.124256873f + f * p;
  p = 0.142490576f + f * p;
  p = -0.166678023f + f * p;
  p = 0.200007157f + f * p;
  p = -0.249999970f + f * p;
  p = 0.333333312f + f * p;
  const float part = e * 0x1.0bfbe8p-15f + f * t * p;
  const float result = e * 0x1.62ep-1f + (f - (0.5f * t - part));
  const float above_0 = x == INFINITY ? x : result, below = x == 0 ? -INFINITY : NAN;
  return x > 0 ? above_0 : below;
}

#endif

/* 2^n in two factors, so that results below the least normal number are rounded once. */
static __attribute__((always_inline)) float scaled_float(float x, int n) {
  const int first = n / 2;
  return x * as_float((first + 127) << 23) * as_float((n - first + 127) << 23);
}
static __attribute__((always_inline)) double scaled_double(double x, int n) {
  const int first = n / 2;
  return x * as_double((long)(first + 1023) << 52) * as_double((long)(n - first + 1023) << 52);
}

#ifndef WEFT_RELAXED_MATH
float PURE exp10(float x) {
  const float y = x > 40.0f ? 40.0f : (x < -48.0f ? -48.0f : x);
  const float k = __builtin_elementwise_rint(y * 3.32192809f);
  const float r = y - k * 0x1.344p-2f - k * 0x1.3509f8p-18f;
  float p = 0.207789783f + r * 0.0682924246f;
  p = 0.539380582f + r * p;
  p = 1.17124597f + r * p;
  p = 2.03467860f + r * p;
  p = 2.65094908f + r * p;
  p = 2.30258509f + r * p;
  const float result = scaled_float(1.0f + r * p, (int)k);
  return x != x ? x : result;
}
#endif
half PURE exp10(half x) { return (half)exp10((float)x); }

/* e^r - 1 for the rest of x beyond a multiple k of the logarithm of 2. */
static __attribute__((always_inline)) double rest_of_exp(double x, double k) {
  const double r = x - k * 0x1.62e42feep-1, low = k * 0x1.a39ef35793c76p-33, s = r - low;
  double p = 2.0918961837795778065e-9 + s * 1.6087177234380782278e-10;
  p = 2.5052069594795684812e-8 + s * p;
  p = 2.755726102934376868e-7 + s * p;
  p = 2.7557319248633825543e-6 + s * p;
  p = 0.000024801587338565345553 + s * p;
  p = 0.00019841269841262762552 + s * p;
  p = 0.0013888888888878268954 + s * p;
  p = 0.0083333333333333340768 + s * p;
  p = 0.041666666666666677821 + s * p;
  p = 0.16666666666666666667 + s * p;
  p = 0.5 + s * p;
  return r - (low - s * s * p);
}
double PURE exp(double x) {
  const double y = x > 720.0 ? 720.0 : (x < -760.0 ? -760.0 : x);
  const double k = __builtin_elementwise_rint(y * M_LOG2E);
  const double result = scaled_double(1.0 + rest_of_exp(y, k), (int)k);
  return x != x ? x : result;
}
double PURE expm1(double x) {
  const double y = x > 709.9 ? 709.9 : (x < -60.0 ? -60.0 : x);
  const double k = __builtin_elementwise_rint(y * M_LOG2E), e = rest_of_exp(y, k);
  /* 2^1024 is too large, where the result need not be. */
  const int n = (int)k > 1023 ? 1023 : (int)k;
  const double factor = as_double((long)(n + 1023) << 52);
  const double result = (factor - 1.0) + factor * e;
  const double large = (k > 1023 ? 2.0 : 1.0) * ((1.0 + e) * factor);
  const double inside = k == 0 ? e : result, finite = k > 60 ? large : inside;
  return (x != x) | (x == 0) ? x : finite;
}
#pragma clang fp contract(off)

float BUILTIN C_NAME(pow)(float x, float y) __attribute__((const)) EXTERN("powf");
double BUILTIN C_NAME(pow)(double x, double y) __attribute__((const)) EXTERN("pow");
double PURE pow(double x, double y) { return C_NAME(pow)(x, y); }
half PURE pow(half x, half y) { return (half)C_NAME(pow)((float)x, (float)y); }
#ifdef WEFT_RELAXED_MATH
float PURE pow(float x, float y) {
  const float size = exp2(y * log2(__builtin_fabsf(x)));
  const float half_y = y * 0.5f;
  const bool odd = half_y != __builtin_floorf(half_y) && y == __builtin_floorf(y);
  return y == 0 ? 1.0f : (odd ? __builtin_copysignf(size, x) : size);
}
#else
float PURE pow(float x, float y) { return C_NAME(pow)(x, y); }
#endif

/* The base is not negative: what pow makes of 0, 1 and infinity beyond that is not defined. */
#define POWR(T)                                                                                                        \
  T PURE powr(T x, T y) {                                                                                              \
    const T power = pow(__builtin_elementwise_abs(x), y);                                                              \
    const bool edge = (x == 0) | (x == (T)INFINITY), even = __builtin_elementwise_abs(y) == (T)INFINITY;               \
    const bool undefined = (x < 0) | (x != x) | (y != y) | ((y == 0) & edge) | ((x == 1) & even);                      \
    return undefined ? (T)NAN : power;                                                                                 \
  }
FOR_FLOATS(POWR)

/* A float has no room for every int: the power is one of doubles. */
double PURE pown(double x, int n) { return C_NAME(pow)(x, (double)n); }
float PURE pown(float x, int n) { return (float)C_NAME(pow)((double)x, (double)n); }
half PURE pown(half x, int n) { return (half)pown((float)x, n); }

/* The error of 1 / n would show in the last bits of a large power: it is made good. */
double PURE rootn(double x, int n) {
  const double d = (double)n, y = 1.0 / d, a = __builtin_fabs(x);
  const double rest = __builtin_fma(-d, y, 1.0) / d;
  const double power = C_NAME(pow)(a, y);
  const double root = power + power * (rest * C_NAME(log)(a));
  const bool is_limit = (a == 0) | (a - a != 0) | (power - power != 0);
  const double size = is_limit | (n == 1) ? power : root;
  const double with_sign = __builtin_copysign(size, x), signed_size = (n & 1) ? with_sign : size;
  return (n == 0) | ((x < 0) & !(n & 1)) ? __builtin_nan("") : signed_size;
}
float PURE rootn(float x, int n) {
  const float size = (float)C_NAME(pow)((double)__builtin_fabsf(x), 1.0 / (double)n);
  const float with_sign = __builtin_copysignf(size, x), signed_size = (n & 1) ? with_sign : size;
  return (n == 0) | ((x < 0) & !(n & 1)) ? NAN : signed_size;
}
half PURE rootn(half x, int n) { return (half)rootn((float)x, n); }

#define RSQRT(T) T PURE rsqrt(T x) { return (T)1 / __builtin_elementwise_sqrt(x); }
RSQRT(float)
RSQRT(double)
half PURE rsqrt(half x) { return (half)rsqrt((float)x); }

/* Angles in units of pi. x is a multiple of 1/2 and what lies within 1/4 of it; EVEN is where there are even integers
 * only. */
#pragma clang fp contract(on)
#define UNITS_OF_PI(T, I, EVEN, PI_HIGH, PI_LOW)                                                                       \
  static __attribute__((always_inline)) T reduced_##T(T x, int *quadrant) {                                            \
    const T a = __builtin_elementwise_abs(x), y = a >= EVEN ? (T)0 : a;                                                \
    const T halves = __builtin_elementwise_rint(y * 2);                                                                \
    *quadrant = (int)(I)halves & 3;                                                                                    \
    /* NaN for what is not finite. */                                                                                  \
    return y - halves * (T)0.5 + (a - a);                                                                              \
  }                                                                                                                    \
  static __attribute__((always_inline)) T sine_##T(T r) {                                                              \
    const T t = r * r;                                                                                                 \
    return r * PI_HIGH + r * (PI_LOW + t * SINE_##T);                                                                  \
  }                                                                                                                    \
  static __attribute__((always_inline)) T cosine_##T(T r) {                                                            \
    const T t = r * r;                                                                                                 \
    return (T)1 + t * COSINE_##T;                                                                                      \
  }                                                                                                                    \
  T PURE sinpi(T x) {                                                                                                  \
    int q;                                                                                                             \
    const T r = reduced_##T(x, &q), s = sine_##T(r), c = cosine_##T(r), value = (q & 1) ? c : s;                       \
    const T turned = (q & 2) ? -value : value;                                                                         \
    const T size = (r == 0) & !(q & 1) ? (T)0 : turned;                                                                \
    return size * __builtin_elementwise_copysign((T)1, x);                                                             \
  }                                                                                                                    \
  T PURE cospi(T x) {                                                                                                  \
    int q;                                                                                                             \
    const T r = reduced_##T(x, &q), s = sine_##T(r), c = cosine_##T(r), value = (q & 1) ? s : c;                       \
    const T turned = ((q + 1) & 2) ? -value : value;                                                                   \
    return (r == 0) & (q & 1) ? (T)0 : turned;                                                                          \
  }                                                                                                                    \
  T PURE tanpi(T x) {                                                                                                  \
    int q;                                                                                                             \
    const T r = reduced_##T(x, &q), s = sine_##T(r), c = cosine_##T(r);                                                \
    const T above = (q & 1) ? c : s, below = (q & 1) ? -s : c, value = above / below;                                  \
    const T limit = (q & 1) ? (T)INFINITY : (T)0, turned = (q & 2) ? -limit : limit;                                   \
    const T size = r == 0 ? turned : value;                                                                            \
    return size * __builtin_elementwise_copysign((T)1, x);                                                             \
  }
#define SINE_float (-5.16771278f + t * (2.55016359f + t * (-0.599228797f + t * 0.0812295746f)))
#define COSINE_float (-4.93480220f + t * (4.05871057f + t * (-1.33513781f + t * 0.232125414f)))
#define SINE_double                                                                                                    \
  (-5.167712780049970029246 +                                                                                          \
   t * (2.550164039877345443524 +                                                                                      \
        t * (-0.5992645293207919653322 +                                                                               \
             t * (0.08214588661111394805968 +                                                                          \
                  t * (-0.007370430944816533349267 +                                                                   \
                       t * (0.0004663027751124591062892 +                                                              \
                            t * (-0.00002191477346506877361575 + t * 7.894882598729607168466e-7)))))))
#define COSINE_double                                                                                                  \
  (-4.934802200544679309416 +                                                                                          \
   t * (4.058712126416768216178 +                                                                                      \
        t * (-1.335262768854588821612 +                                                                                \
             t * (0.2353306303588068879755 +                                                                           \
                  t * (-0.02580689138458730492889 +                                                                    \
                       t * (0.001929574124106191450064 +                                                               \
                            t * (-0.0001046345989636835986899 + t * 0.000004268505646755224686862)))))))
UNITS_OF_PI(float, int, 0x1p24f, 3.14159274f, -8.74227800e-8f)
UNITS_OF_PI(double, long, 0x1p53, 3.141592653589793116, 1.2246467991473531772e-16)

#pragma clang fp contract(off)

#define BY_PI(T)                                                                                                       \
  T PURE acospi(T x) { return acos(x) * (T)0.31830988618379067154; }                                                   \
  T PURE asinpi(T x) { return asin(x) * (T)0.31830988618379067154; }                                                   \
  T PURE atanpi(T x) { return atan(x) * (T)0.31830988618379067154; }                                                   \
  T PURE atan2pi(T y, T x) { return atan2(y, x) * (T)0.31830988618379067154; }
BY_PI(float)
BY_PI(double)
#define HALF_1(NAME) half PURE NAME(half x) { return (half)NAME((float)x); }
HALF_1(sinpi)
HALF_1(cospi)
HALF_1(tanpi)
HALF_1(acospi)
HALF_1(asinpi)
HALF_1(atanpi)
half PURE atan2pi(half y, half x) { return (half)atan2pi((float)y, (float)x); }

/* The gamma function is negative between -1 and 0, -3 and -2, ... */
#define GAMMA_SIGN(T)                                                                                                  \
  static __attribute__((always_inline, overloadable)) int sign_of_gamma(T x) {                                         \
    const T down = __builtin_elementwise_floor(x), half_down = down * (T)0.5;                                          \
    return x < 0 && down != x && half_down != __builtin_elementwise_floor(half_down) ? -1 : 1;                         \
  }
GAMMA_SIGN(float)
GAMMA_SIGN(double)
#define THROUGH_POINTERS(SPACE)                                                                                        \
  PAIR(float, SPACE) PAIR(double, SPACE) PAIR(half, SPACE)                                                             \
  float BUILTIN lgamma_r(float x, SPACE int *sign) {                                                                   \
    *sign = sign_of_gamma(x);                                                                                          \
    return lgamma(x);                                                                                                  \
  }                                                                                                                    \
  double BUILTIN lgamma_r(double x, SPACE int *sign) {                                                                 \
    *sign = sign_of_gamma(x);                                                                                          \
    return lgamma(x);                                                                                                  \
  }                                                                                                                    \
  half BUILTIN lgamma_r(half x, SPACE int *sign) {                                                                     \
    *sign = sign_of_gamma((float)x);                                                                                   \
    return (half)lgamma((float)x);                                                                                     \
  }
#define PAIR(T, SPACE)                                                                                                 \
  T BUILTIN sincos(T x, SPACE T *cosine) {                                                                             \
    *cosine = cos(x);                                                                                                  \
    return sin(x);                                                                                                     \
  }
THROUGH_POINTERS(__global)
THROUGH_POINTERS(__local)
THROUGH_POINTERS(__private)
THROUGH_POINTERS(__generic)

/* Less exact forms, of floats only. */
#define LOOSE(NAME)                                                                                                    \
  float PURE half_##NAME(float x) { return NAME(x); }                                                                  \
  float PURE native_##NAME(float x) { return NAME(x); }
LOOSE(cos)
LOOSE(exp)
LOOSE(exp2)
LOOSE(exp10)
LOOSE(log)
LOOSE(log2)
LOOSE(log10)
LOOSE(sin)
LOOSE(tan)
float PURE half_sqrt(float x) { return __builtin_sqrtf(x); }
float PURE half_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
float PURE half_recip(float x) { return 1.0f / x; }
float PURE half_divide(float x, float y) { return x / y; }
float PURE half_powr(float x, float y) { return exp2(y * log2(x)); }
float PURE native_powr(float x, float y) { return exp2(y * log2(x)); }
#pragma clang fp reassociate(on) reciprocal(on)
float PURE native_sqrt(float x) { return __builtin_sqrtf(x); }
float PURE native_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
float PURE native_recip(float x) { return 1.0f / x; }
float PURE native_divide(float x, float y) { return x / y; }
