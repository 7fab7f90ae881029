// Loops, each in a function of (int n, float *a, float *b, int *c, double *d), four arrays that do not overlap, n
// elements each but for c, which has 2n. The comment before a function says what becomes of its loop: SIMD, or why not.
#include <math.h>

#define ARGS int n, float *restrict a, float *restrict b, int *restrict c, double *restrict d

//: SIMD
void copy(ARGS) { for (int i = 0; i < n; i++) a[i] = b[i]; }
//: SIMD
void axpy(ARGS) { for (int i = 0; i < n; i++) a[i] += 2.5f * b[i]; }
//: SIMD
void up_by_two(ARGS) { for (int i = 0; i < n; i += 2) a[i] = b[i] + 1; }
//: SIMD
void down(ARGS) { for (int i = n - 1; i >= 0; i--) a[i] = b[i] * 2; }
//: SIMD
void reversed(ARGS) { for (int i = 0; i < n; i++) a[i] = b[n - 1 - i]; }
//: SIMD
void unsigned_counter(ARGS) { for (unsigned i = 0; i < (unsigned)n; i++) a[i] = b[i] - 1; }
//: SIMD
void long_counter(ARGS) { for (long i = 3; i < n; i++) a[i] = b[i - 3]; }
//: SIMD
void two_counters(ARGS) { int j = 0; for (int i = 0; i < n; i++) { c[j] = i; j += 2; } }
//: SIMD
void pointers(ARGS) { for (int i = 0; i < n; i++) { float *p = a + i; *p = *p * b[i]; } }
//: SIMD
void counts_down_to_zero(ARGS) { for (int i = n; i > 0; i--) a[i - 1] = b[i - 1]; }
//: SIMD
void bottom_tested(ARGS) { int i = 0; if (n > 0) do { a[i] = b[i] + 3; i++; } while (i < n); }
//: SIMD
void condition(ARGS) { for (int i = 0; i < n; i++) if (b[i] > 0) a[i] = b[i]; }
//: SIMD
void both_arms(ARGS) { for (int i = 0; i < n; i++) { if (b[i] > 0) a[i] = b[i]; else d[i] = b[i]; } }
//: SIMD
void nested_conditions(ARGS) { for (int i = 0; i < n; i++) if (b[i] > 0) { if (c[i] > 3) a[i] = 1; else a[i] = 2; } }
//: SIMD
void inner_loop(ARGS) { for (int i = 0; i < n; i++) { float x = b[i]; while (x < 8 && x > -8) x = x * x + 0.3f; a[i] = x; } }
//: SIMD
void inner_break(ARGS) { for (int i = 0; i < n; i++) { int j; for (j = 0; j < 20; j++) if (b[i] * j > 3) break; c[i] = j; } }
//: SIMD
void gathers(ARGS) { for (int i = 0; i < n; i++) a[i] = b[(c[i] & 0x7fffffff) % n]; }
//: SIMD
void interleaved(ARGS) { for (int i = 0; i < n; i++) { int t = c[2 * i]; c[2 * i] = c[2 * i + 1]; c[2 * i + 1] = t; } }
//: SIMD
void every_third(ARGS) { for (int i = 0; i < n / 3; i++) a[i] = b[3 * i] + b[3 * i + 1] * b[3 * i + 2]; }
//: SIMD
void mixed_widths(ARGS) { for (int i = 0; i < n; i++) d[i] = (double)a[i] * c[i] + (short)c[i]; }
//: SIMD
void integers(ARGS) { for (int i = 0; i < n; i++) c[i] = (c[i] ^ (c[i] << 3)) + (c[i] >> 2) * 7; }
//: SIMD
void stack_array(ARGS) { for (int i = 0; i < n; i++) { float t[4]; for (int j = 0; j < 4; j++) t[j] = b[i] * j; a[i] = t[c[i] & 3]; } }
//: SIMD
void square_roots(ARGS) { for (int i = 0; i < n; i++) a[i] = sqrtf(fabsf(b[i])) + floorf(a[i]); }
//: other iterations may read what is written here
void writes_ahead_within(ARGS) { for (int i = 0; i < n / 2; i++) a[i] = a[i + n / 2 + n % 2] + 1; }
//: SIMD
void same_element(ARGS) { for (int i = 0; i < n; i++) { a[i] = a[i] * 2; a[i] = a[i] + b[i]; } }
//: SIMD
void even_and_odd(ARGS) { for (int i = 0; i < n; i++) c[2 * i + 1] = c[2 * i] + 1; }
//: SIMD
void integer_sum(ARGS) { int s = 0; for (int i = 0; i < n; i++) s += c[i]; c[0] = s; }
//: SIMD
void conditional_sum(ARGS) { int s = 3; for (int i = 0; i < n; i++) if (b[i] > 0) s += c[i] * i; c[0] = s; }
//: SIMD
void minimum(ARGS) { int m = 1000; for (int i = 0; i < n; i++) if (c[i] < m) m = c[i]; c[0] = m; }
//: SIMD
void maximum(ARGS) { float m = -1000; for (int i = 0; i < n; i++) m = b[i] > m ? b[i] : m; a[0] = m; }
//: SIMD
void bit_sums(ARGS) { int x = 0, o = 0; for (int i = 0; i < n; i++) { x ^= c[i]; o |= c[i]; } c[0] = x; c[1] = o; }
//: SIMD
void count_matches(ARGS) { int k = 0; for (int i = 0; i < n; i++) k += b[i] > 0.5f; c[0] = k; }
//: SIMD
void double_sum(ARGS) {
  int s = 0;
  for (int i = 0; i < n; i++) for (int j = 0; j < (c[i] & 3); j++) s += j * c[i];
  c[0] = s;
}
//: SIMD
void promised(ARGS) {
#pragma clang loop vectorize(assume_safety)
  for (int i = 0; i < n; i++) a[c[2 * i] >= 0 ? i : i] = b[i];
}
//: SIMD
void omp(ARGS) {
#pragma omp simd
  for (int i = 0; i < n; i++) a[i] = b[i] + a[i];
}

//: a float sum or product would be formed in another order
void float_sum(ARGS) { float s = 0; for (int i = 0; i < n; i++) s += b[i]; a[0] = s; }
//: the element written here is read 1 iteration later
void recurrence(ARGS) { for (int i = 1; i < n; i++) a[i] = a[i - 1] + b[i]; }
//: the element written here is read 4 iterations later
void far_recurrence(ARGS) { for (int i = 4; i < n; i++) a[i] = a[i - 4] + b[i]; }
//: the element written here is read 1 iteration earlier
void reads_ahead(ARGS) { for (int i = 0; i < n - 1; i++) a[i] = a[i + 1] + b[i]; }
//: is used in the loop by more than the operation that carries it
void prefix_sum(ARGS) { int s = 0; for (int i = 0; i < n; i++) { s += c[i]; c[i] = s; } }
//: different iterations may write the same element
void scatters(ARGS) { for (int i = 0; i < n; i++) a[(c[i] & 0x7fffffff) % n] = b[i]; }
//: each iteration writes the same element
void one_element(ARGS) { for (int i = 0; i < n; i++) a[0] = b[i]; }
//: the loop is left in more than one way
void leaves(ARGS) { for (int i = 0; i < n; i++) { if (b[i] > 0.9f) break; a[i] = b[i]; } }
//: does not count up or down to a bound
void no_counter(ARGS) { int i = 1; while (i < n) { a[i] = b[i]; i *= 2; } }
//: is used in the loop by more than the operation that carries it
void last_value(ARGS) { float t = 0; for (int i = 0; i < n; i++) { a[i] = t; t = b[i]; } }
//: SIMD
void asked_for_three_lanes(ARGS) {
#pragma clang loop vectorize_width(3)
  for (int i = 0; i < n; i++) a[i] = b[i] + 5;
}
typedef struct { float re, im; } Complex;
typedef struct { int key, count; } Entry;
__attribute__((noinline)) static Complex squared(Complex z) { Complex r = { z.re * z.re - z.im * z.im, 2 * z.re * z.im }; return r; }
static float plus(float x) { return x + 1; }
static float halved(float x) { return x > 0 ? x / 2 : x; }
//: SIMD
void struct_calls(ARGS) {
#pragma omp simd
  for (int i = 0; i < n; i++) { Complex z = { a[i], b[i] }; if (b[i] > 0) z = squared(z); a[i] = z.re; b[i] = z.im; }
}
//: SIMD
void array_of_structs(ARGS) { Entry *e = (Entry *)c; for (int i = 0; i < n; i++) if (e[i].key > 0) e[i].count += e[i].key; }
//: SIMD
void complex_numbers(ARGS) {
#pragma omp simd
  for (int i = 0; i < n; i++) { float _Complex z = a[i] + b[i] * 1.0fi; z = z * z; a[i] = __real__ z; b[i] = __imag__ z; }
}
//: SIMD
void pointers_to_functions(ARGS) {
  float (*const f[2])(float) = { plus, halved };
#pragma omp simd
  for (int i = 0; i < n; i++) a[i] = f[c[i] & 1](b[i]);
}
//: SIMD
void atomic_counts(ARGS) {
#pragma omp simd
  for (int i = 0; i < n; i++) __atomic_fetch_add(&c[c[n + i] & 1], 1, __ATOMIC_RELAXED);
}
//: SIMD
void blocks(ARGS) { for (int i = 0; i < n; i++) { float t[4]; __builtin_memset(t, 0, sizeof t); t[c[i] & 3] = b[i]; float u[4] = { 1, 2, 3, 4 }; if (b[i] > 0) __builtin_memcpy(u, t, sizeof u); a[i] = u[1] + u[2]; } }
//: SIMD
void states(ARGS) {
  for (int i = 0; i < n; i++) {
    int s = c[i] & 3, k = 0;
    while (k < 12) switch (k++, s) { case 0: s = 2; break; case 1: s = b[i] > 0 ? 3 : 0; continue; case 2: s = 1; if (k > 9) goto done; break; default: k += 3; s = 0; }
    done: a[i] = s * 10 + k;
  }
}
//: SIMD
void shorts_and_longs(ARGS) { short *s = (short *)c; for (int i = 0; i < n; i++) s[i] = (short)(s[i] * 3 + (long)d[i] % 7); }
