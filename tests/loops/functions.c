// Functions for one lane, of the kinds that vectorizers trip over. Each takes (float x, float y, int k, long s,
// float *p): x, y and k vary, s and p are uniform; p has 64 elements.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARGS float x, float y, int k, long s, float *p

float straight(ARGS) { return x * y + k; }
float branch(ARGS) { if (x > y) return x - y; return x * y; }
float both_arms(ARGS) { float r; if (x > 0) r = x + y; else r = x - y; return r * 2; }
float chain(ARGS) { if (x < -1) return 1; else if (x < 0) return y; else if (x < 1) return x; return k; }
float uniform_branch(ARGS) { return s > 3 ? x + y : x - y; }
float uniform_in_divergent(ARGS) { if (x > 0) { if (s > 3) return y; return x; } return k; }
float divergent_in_uniform(ARGS) { if (s > 3) { if (x > 0) return y; return x; } return k; }
float interleaved(ARGS) { float r = 0; if (x > 0) r += 1; if (s > 2) r += y; if (y > 0) r *= 2; if (s > 5) r += k; return r; }
float short_and(ARGS) { return x > 0 && y > x && k > 3 ? x : y; }
float short_or(ARGS) { if (x > 1 || (y < 0 && p[k & 63] > 0) || k == 2) return 1; return x; }
float select_chain(ARGS) { float a = x > y ? x : y, b = x > y ? y : x; return a > 2 * b ? a : b; }

float countdown(ARGS) { int n = k & 31; float r = 0; while (n > 0) { r += x; n--; } return r; }
float collatz(ARGS) { int n = (k & 1023) + 1, c = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; c++; } return c; }
float mandelbrot(ARGS) {
  float a = 0, b = 0; int i;
  for (i = 0; i < 50; i++) { float t = a * a - b * b + x; b = 2 * a * b + y; a = t; if (a * a + b * b > 4) break; }
  return i;
}
float two_exits(ARGS) {
  float r = x;
  for (int i = 0; i < 20; i++) { if (r > 10) return r; r = r * 1.5f + 1; if (i == (k & 15)) break; }
  return -r;
}
float three_exits(ARGS) {
  int i = 0;
  for (;;) { if (i > (k & 31)) return 1; if (x * i > 6) return 2; if (y + i > 9) return i; i++; }
}
float uniform_and_divergent_exit(ARGS) {
  float r = 0;
  for (long i = 0; i < s + 4; i++) { r += p[i]; if (r > x) break; }
  return r;
}
float two_level_break(ARGS) {
  float r = 0;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) { r += x; if (r > y + 3) goto out; if (j > (k & 7)) break; }
  out:
  return r;
}
float continues(ARGS) {
  float r = 0;
  for (int i = 0; i < 12; i++) { if ((i + k) & 1) continue; r += x; if (r > 5) continue; r += 1; }
  return r;
}
float nested_divergent(ARGS) {
  float r = 0;
  for (int i = 0; i < (k & 7); i++) for (float t = x; t < 2; t += 0.5f) r += t * i;
  return r;
}
float do_while(ARGS) { float r = x; int i = 0; do { r = r * 0.5f + y; i++; } while (i < (k & 15)); return r; }
float triangle(ARGS) { float r = 0; for (int i = 0; i < (k & 15); i++) for (int j = 0; j <= i; j++) r += p[j]; return r; }
float loop_after_loop(ARGS) {
  float r = x; int i;
  for (i = 0; r < 4 && i < 9; i++) r += 0.75f;
  for (; i > 0; i--) r -= y;
  return r;
}
float early_continue_return(ARGS) {
  for (int i = 0; i < 16; i++) { if (i < (k & 7)) continue; if (p[i] > x) return i; }
  return -1;
}

float unstructured(ARGS) {
  float r = x;
  if (x > 0) goto b;
  r += 1;
  if (y > 0) goto c;
  b: r += 10;
  c: return r * 2;
}
float crossing(ARGS) {
  float r = 0;
  if (x > 0) { if (y > 0) goto both; r = 1; goto end; }
  if (y > 0) { r = 2; both: r += 4; }
  end: return r + x;
}
float goto_loop(ARGS) {
  int i = k & 7; float r = x;
  again: r += 1; if (i-- > 0) goto again;
  return r;
}
float switch_plain(ARGS) { switch (k & 7) { case 0: return x; case 1: return y; case 5: return x * y; default: return 3; } }
float switch_through(ARGS) { float r = 0; switch (k & 3) { case 0: r += 1; case 1: r += x; break; case 2: r = y; } return r; }
float switch_in_loop(ARGS) {
  float r = 0; int state = k & 3;
  for (int i = 0; i < 10; i++)
    switch (state) { case 0: r += x; state = 2; break; case 1: r += y; state = 3; break; case 2: state = 1; break; default: return r; }
  return r;
}
float uniform_switch(ARGS) { switch (s) { case 1: return x; case 2: return y; case 4: return x + y; default: return k; } }

typedef struct { float a, b; int c; } Pair;
static Pair make(float x, float y) { Pair r = { x + y, x - y, x > y }; return r; }
float struct_result(ARGS) { Pair r = make(x, y); return r.c ? r.a : r.b; }
static float use(Pair q) { return q.a * q.b + q.c; }
float struct_argument(ARGS) { Pair q = { x, y, k }; if (x > 1) q.a = 7; return use(q); }
float struct_array(ARGS) { Pair q[4]; for (int i = 0; i < 4; i++) q[i] = make(x + i, y); return q[k & 3].a + q[(k >> 2) & 3].b; }
float stack_array(ARGS) { float t[8]; for (int i = 0; i < 8; i++) t[i] = x * i; float r = 0; for (int i = 0; i < 8; i += 2) r += t[i]; return r; }
float stack_index(ARGS) { float t[8]; for (int i = 0; i < 8; i++) t[i] = x + i; t[k & 7] = y; return t[(k + 1) & 7] + t[k & 7]; }
float stack_in_branch(ARGS) { float t[4] = { 1, 2, 3, 4 }; if (x > 0) { t[k & 3] = y; } return t[0] + t[1] + t[2] * t[3]; }
float traversal(ARGS) {
  int todo[16], top = 0; float r = 0; todo[top++] = 1;
  while (top > 0) { int n = todo[--top]; r += p[n & 63]; if (p[n & 63] > x && n < 16) { todo[top++] = 2 * n; todo[top++] = 2 * n + 1; } }
  return r;
}
float fills(ARGS) { char t[16]; memset(t, 0, sizeof t); t[k & 15] = 3; int r = 0; for (int i = 0; i < 16; i++) r += t[i] * (i + 1); return r; }
float copies(ARGS) { float t[4], u[4]; for (int i = 0; i < 4; i++) t[i] = x + i; memcpy(u, t, sizeof u); u[k & 3] = y; return u[0] + u[3] + t[k & 3]; }

float gather(ARGS) { return p[k & 63] + x; }
float gather_chain(ARGS) { int i = k & 63; for (int j = 0; j < 3; j++) i = (int)(fabsf(p[i]) * 10) & 63; return p[i]; }
float guarded_load(ARGS) { return x > 0 ? p[(k & 31) + 32] : y; }
float uniform_load(ARGS) { return p[s & 63] * x; }
float search(ARGS) { int lo = 0, hi = 64; while (lo < hi) { int m = (lo + hi) / 2; if (p[m] * m < x * 8) lo = m + 1; else hi = m; } return lo; }
float aligned_branch(ARGS) { return (((unsigned long)p + 4 * (k & 63)) & 15) == 0 ? x : y; }

static float power(float x, int n) { return n <= 0 ? 1 : x * power(x, n - 1); }
float recursion(ARGS) { return power(x, k & 7); }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
float recursion_twice(ARGS) { return fib(k & 7); }
__attribute__((noinline)) static float side(float x, int k) { if (k & 1) return x + 1; return x * 2; }
float calls(ARGS) { return x > 0 ? side(x, k) + side(y, k + 1) : side(y, 3); }
__attribute__((noinline)) static float twice(float (*f)(float, int), float x, int k) { return f(f(x, k), k); }
float function_pointer(ARGS) { return twice(side, x, k); }

float math_calls(ARGS) { return sqrtf(fabsf(x)) + floorf(y) + fminf(x, y) + copysignf(1, x); }
float guarded_math(ARGS) { return x > 0.1f ? sqrtf(x) / x : 0; }
float integer_mix(ARGS) { short a = (short)(k * 3); unsigned char b = (unsigned char)(k >> 3); long c = (long)k * 100003; return a + b + (float)(c % 1009); }
float long_math(ARGS) { long a = k, b = a * a + s; return (float)(b ^ (b >> 7)); }
float divisions(ARGS) { return k ? (100 / k) + (77 % k) : -1; }
float unsigned_division(ARGS) { unsigned u = (unsigned)k + 3u; return 1000000u / (u | 1) + (u % 7); }
float shifts(ARGS) { unsigned u = (unsigned)k; return (float)((u << (k & 7)) >> 3) + (k >> 2); }
float bits(ARGS) { return __builtin_popcount((unsigned)k) + __builtin_clz((unsigned)k | 1) + __builtin_ctz((unsigned)k | 256); }
float conversions(ARGS) { int i = (int)(x * 10); unsigned u = (unsigned)fabsf(y * 5); double d = x; return i + (float)u + (float)(d * 3); }
float doubles(ARGS) { double a = x, b = y; for (int i = 0; i < 5; i++) a = a * 0.5 + b; return (float)a; }
float booleans(ARGS) { _Bool a = x > 0, b = y > 0; return (a ^ b) + 2 * (a & b) + 4 * !a; }
float complex_step(ARGS) { float re = x, im = y; for (int i = 0; i < (k & 3); i++) { float t = re * re - im * im; im = 2 * re * im; re = t; } return re + im; }
float xorshift(ARGS) { unsigned u = (unsigned)k * 2654435761u + 1; for (int i = 0; i < 4; i++) { u ^= u << 13; u ^= u >> 17; u ^= u << 5; } return (float)(u >> 8); }
float clamp(ARGS) { float r = x; if (r < -1) r = -1; if (r > 1) r = 1; return r + (k < 0 ? 0 : k > 9 ? 9 : k); }
float newton(ARGS) { float a = fabsf(x) + 1, r = a; while (fabsf(r * r - a) > 1e-3f * a) r = 0.5f * (r + a / r); return r; }
float gcd(ARGS) { int a = (k & 255) + 1, b = ((int)(fabsf(x) * 100) & 255) + 1; while (b) { int t = a % b; a = b; b = t; } return a; }
