// Floating point: formats, comparisons, conversions, library calls, fast math, complex numbers.

typedef _Float16 half;
typedef __bf16 bfloat;

float mix(float a, float b, float t) { return a + (b - a) * t; }
double horner(const double *c, int n, double x) {
  double r = 0;
  while (n-- > 0) r = r * x + c[n];
  return r;
}
int ordered(double a, double b) { return (a < b) + (a <= b) * 2 + (a == b) * 4 + (a != b) * 8; }
int unordered(float a, float b) { return __builtin_isunordered(a, b) | !(a < b) << 1; }
float negate(float x) { return -x; }
double remainder_of(double a, double b) { return __builtin_fmod(a, b); }
int truncate_int(float x) { return (int)x; }
unsigned truncate_unsigned(double x) { return (unsigned)x; }
float from_int(int x) { return (float)x; }
double from_unsigned(unsigned long x) { return (double)x; }
float narrow_double(double x) { return (float)x; }
double widen_float(float x) { return x; }
half half_sum(half a, half b) { return a + b; }
float half_to_float(half a) { return a; }
half float_to_half(float a) { return (half)a; }
bfloat bfloat_pass(bfloat a, int c) { return c ? a : (bfloat)1.5f; }
float bfloat_to_float(bfloat a) { return (float)a; }
double special(int i) {
  switch (i) {
    case 0: return __builtin_inf();
    case 1: return -__builtin_nan("");
    case 2: return -0.0;
    case 3: return 1e-310;
    case 4: return 0.1;
    default: return 3.0;
  }
}
float special_float(int i) { return i ? __builtin_nanf("0x123") : 1e-42f; }
half special_half(int i) { return i ? (half)65504.0f : (half)0.1f; }
float root(float x) { return __builtin_sqrtf(x); }
double trig(double x) { return __builtin_sin(x) + __builtin_cos(x) * __builtin_exp(-x); }
float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
float rounding(float x) { return __builtin_floorf(x) + __builtin_ceilf(x) - __builtin_truncf(x); }
double min_max(double a, double b) { return __builtin_fmin(a, b) - __builtin_fmax(a, b); }
float copysign_abs(float a, float b) { return __builtin_copysignf(__builtin_fabsf(a), b); }
long nearest(double x) { return __builtin_lround(x); }
int classify(double x) { return __builtin_isnan(x) + 2 * __builtin_isinf(x) + 4 * __builtin_signbit(x); }

#pragma clang fp contract(fast) reassociate(on)
float fast_sum(const float *x, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += x[i] * x[i];
  return s;
}
#pragma clang fp contract(off) reassociate(off)

float strict(float a, float b) {
#pragma STDC FENV_ACCESS ON
  return a / b + 1.0f;
}

_Complex double complex_mul(_Complex double a, _Complex double b) { return a * b; }
_Complex float complex_div(_Complex float a, float b) { return a / b; }
double norm(_Complex double a) { return __real__ a * __real__ a + __imag__ a * __imag__ a; }
_Complex float conjugate(_Complex float a) { return ~a; }
double mean(const float *x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return n ? s / n : 0;
}
int float_loop(float from, float to, float by) {
  int n = 0;
  for (float x = from; x < to; x += by) n++;
  return n;
}
