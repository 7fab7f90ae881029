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

// 16 and 64 bits
float short_array(ARGS) { short t[8]; for (int i = 0; i < 8; i++) t[i] = (short)(k * (i + 1)); return t[k & 7] - t[(k >> 3) & 7]; }
float short_and_long(ARGS) { short a = (short)k; long b = (long)a * 40503 + s; unsigned short c = (unsigned short)(b >> 5); return a + c * 0.5f; }
float widening_product(ARGS) { unsigned long a = (unsigned)k * 2654435769ul; return (float)(unsigned)(a >> 32) + (unsigned char)a; }
float long_shifts(ARGS) { long a = (long)k << (k & 31); unsigned long b = (unsigned long)a >> (s + 3); return (float)(b % 10007) + (a < 0); }
float long_bits(ARGS) { unsigned long a = (unsigned long)(long)k; return __builtin_popcountl(a) + 100 * __builtin_ctzl(a | 64) + __builtin_clzl(a | 1); }
float long_division(ARGS) { long a = (long)k * 1000003 + 17; return (float)(a / (s + 3)) + (float)(a % (k | 1)); }
float saturated(ARGS) { short a = (short)(k * 9); int b = a + 20000; return b > 32767 ? 32767 : b < -32768 ? -32768 : b; }
float overflow(ARGS) { int r; if (__builtin_mul_overflow(k, 70000, &r)) return -1; return r; }
float byte_loop(ARGS) { unsigned char c = 200; int n = 0; while (c > (unsigned char)k && n < 300) { c -= 3; n++; } return c + n; }
float rotated(ARGS) { unsigned a = (unsigned)k; a = a << 7 | a >> 25; return (float)(__builtin_bswap32(a) & 0xffff); }
float bit_field(ARGS) { struct { int a : 5; unsigned b : 11; signed c : 3; } f; f.a = k; f.b = (unsigned)k >> 2; f.c = k >> 1; return f.a + f.b * 2 + f.c * 4; }
float half_loop(ARGS) { _Float16 h = (_Float16)x; for (int i = 0; i < (k & 3); i++) h = h * (_Float16)1.5f + (_Float16)0.25f; return (float)h; }

// memory
float punned(ARGS) { int i; memcpy(&i, &x, 4); i ^= k & 0x7fff; float r; memcpy(&r, &i, 4); return r; }
float copies_from(ARGS) { float t[4]; memcpy(t, p + (k & 31), sizeof t); return t[0] - t[3] + t[k & 3]; }
float moves(ARGS) { int t[8]; for (int i = 0; i < 8; i++) t[i] = i * k; memmove(t + 1, t, 6 * sizeof *t); return t[k & 7] + t[2]; }
float sets_some(ARGS) { unsigned char t[12]; memset(t, 7, 12); memset(t + (k & 3), k & 1, 5); int r = 0; for (int i = 0; i < 12; i++) r = r * 3 % 1009 + t[i]; return r; }
float sets_in_branch(ARGS) { float t[6] = { x, y, x, y, x, y }; if (x > 0) memset(t, 0, 12); else if (s > 4) memset(t + 3, 0, 12); return t[k & 1] + t[4] * 3; }
float copied_length(ARGS) { char t[16] = { 1, 2, 3, 4, 5, 6, 7, 8 }, u[16] = { 0 }; memcpy(u, t, k & 7); return u[0] + 10 * u[3] + 100 * u[6]; }
float writes_row(ARGS) { p[s] = 3; return p[s] + x; }
float both_ways(ARGS) { union { float f; unsigned u; unsigned char b[4]; } v; v.f = x; v.b[k & 3] ^= 64; return v.u % 8191u; }
float grid(ARGS) { float t[3][4]; for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) t[i][j] = x * i + y * j; return t[(k & 0xff) % 3][(k >> 4) & 3] + t[2][3]; }
typedef struct Node { float v; struct Node *next; } Node;
float list(ARGS) { Node n[5]; for (int i = 0; i < 5; i++) { n[i].v = x + i; n[i].next = i < 4 ? &n[i + 1] : 0; } if (k & 1) n[1].next = &n[3]; float r = 0; for (Node *q = n; q; q = q->next) r = r * 0.5f + q->v; return r; }
__attribute__((noinline)) static void swap(float *a, float *b) { float t = *a; *a = *b; *b = t; }
float by_pointer(ARGS) { float a = x, b = y; if (k & 1) swap(&a, &b); return a - 2 * b; }
float sorts(ARGS) { float t[6] = { x, y, k & 7, x * y, 1, s }; for (int i = 1; i < 6; i++) { float v = t[i]; int j = i; while (j > 0 && t[j - 1] > v) { t[j] = t[j - 1]; j--; } t[j] = v; } return t[2] + 2 * t[4]; }

// atomics; p is used by all lanes, one after the other
float atomic_sum(ARGS) { if (x > 0) __atomic_fetch_add((int *)p + 3, k & 15, __ATOMIC_RELAXED); return x; }
float atomic_places(ARGS) { __atomic_fetch_xor((unsigned *)p + (k & 7), (unsigned)k << 4, __ATOMIC_SEQ_CST); return y; }
float atomic_maximum(ARGS) { int *q = (int *)p + 9, v = k & 1023, old = __atomic_load_n(q, __ATOMIC_RELAXED); while (old < v && !__atomic_compare_exchange_n(q, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); return v; }
float atomic_own(ARGS) { int t = k; if (__atomic_exchange_n(&t, 5, __ATOMIC_ACQ_REL) & 1) __atomic_sub_fetch(&t, 2, __ATOMIC_RELAXED); return t; }

// structs by value, to functions that stay functions
typedef struct { double m[3]; long k; } Big;
typedef struct { short a, b; float c; } Mixed;
typedef struct { Pair q; unsigned char tag; } Nested;
__attribute__((noinline)) static Pair mirrored(Pair q, float by) { Pair r = { q.b * by, q.a, q.c + 1 }; return r; }
float struct_by_value(ARGS) { Pair q = { x, y, k & 7 }; if (x > y) q = mirrored(q, 2); else if (k & 1) q = mirrored(mirrored(q, y), 3); return q.a - q.b + q.c; }
static Pair stepped(Pair q) { if (q.c <= 0) return q; q.c--; q.a = q.a * 0.5f + q.b; return stepped(q); }
float struct_recursion(ARGS) { Pair q = { x, y, k & 7 }; return stepped(q).a; }
__attribute__((noinline)) static Big bigger(Big b, int i) { b.m[i & 1] += i; b.m[2] *= 2; b.k++; return b; }
float struct_in_memory(ARGS) { Big b = { { x, y, 1 }, k }, c = bigger(b, k & 3); return c.m[0] + c.m[1] * 2 + c.m[2] + (c.k - b.k) + b.m[0]; }
__attribute__((noinline)) static Mixed mixed(Mixed m, long n) { m.a += m.b; m.c -= n; return m; }
float struct_of_shorts(ARGS) { Mixed m = { (short)k, 3, x }; if (y > 0) m = mixed(m, s); return m.a + m.c; }
__attribute__((noinline)) static Nested nested(Nested n) { n.q.a += n.tag; n.tag = n.q.a > 2; return n; }
float struct_nested(ARGS) { Nested n = { { x, y, k }, (unsigned char)k }; n = nested(n); return n.q.a + n.tag + n.q.b; }

// complex numbers
float complex_product(ARGS) { float _Complex a = x + y * 1.0fi, b = y - 2.0fi; a = a * b + x; return __real__ a - 2 * __imag__ a; }
float complex_quotient(ARGS) { float _Complex a = x + 1.5fi, b = y + (k & 3) * 1.0fi; if (k & 4) a = a / b; return __real__ a + __imag__ a; }
__attribute__((noinline)) static double _Complex squared(double _Complex z) { return z * z + 0.25; }
float complex_function(ARGS) { double _Complex z = x * 0.25 + y * 0.125i; for (int i = 0; i < (k & 3); i++) z = squared(z); return (float)(__real__ z + __imag__ z); }
float complex_orbit(ARGS) { float _Complex z = 0, c = x * 0.5f + y * 0.5fi; int i = 0; while (i < 30 && __real__ z * __real__ z + __imag__ z * __imag__ z < 4) { z = z * z + c; i++; } return i; }

// alignment
float aligned_loop(ARGS) { const float *q = p + (k & 15); float r = 0; while ((unsigned long)q & 31) r += *q++; for (int i = 0; i < 8; i++) r += ((const float *)__builtin_assume_aligned(q, 32))[i]; return r; }
float aligned_either(ARGS) { char *q = (char *)p + 4 * (k & 63); int n = 0; for (; (unsigned long)q % 64; q -= 4) n++; return n & 8 ? x : y; }

// recursion and pointers to functions
static int is_odd(int n);
static int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
static int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }
float mutual(ARGS) { return is_even(k & 15) ? x : y; }
static int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
float nested_recursion(ARGS) { return ackermann((k & 1) + 1, k & 3); }
static float halves(const float *t, int n) { return n == 1 ? *t : halves(t, n / 2) + halves(t + n / 2, n - n / 2); }
float divide(ARGS) { return halves(p, (k & 15) + 1) + x; }
static float plus(float a, int k) { return k & 2 ? a + 1 : a * a; }
static float slow(float a, int k) { for (int i = 0; i < (k & 7); i++) a = a * 0.5f + 1; return a; }
static float number(float a, int k) { return k; }
static float (*const TABLE[4])(float, int) = { plus, slow, number, slow };
float pointer_table(ARGS) { return TABLE[k & 3](x, k) - y; }
float pointer_uniform(ARGS) { if (x > 0) return TABLE[s & 3](y, k); return x; }
float pointer_chosen(ARGS) { float (*f)(float, int) = x > y ? plus : slow; float r = f(x, k); if (k & 1) r += TABLE[(k >> 1) & 3](y, 3); return r; }
float pointer_outside(ARGS) { float (*f)(float) = k & 1 ? sqrtf : k & 2 ? floorf : fabsf; return f(fabsf(x)) + y; }
static void writer(float *q, int k) { *q += k & 7; }
static void clearer(float *q, int k) { if (k & 8) *q = 0; }
float pointer_void(ARGS) { void (*f)(float *, int) = k & 1 ? writer : clearer; float t = x; if (y > -1) f(&t, k); return t; }
static Pair twisted(Pair q, float by) { Pair r = { q.a - by, q.b + by, 0 }; return r; }
float pointer_struct(ARGS) { Pair (*f)(Pair, float) = k & 1 ? mirrored : twisted; Pair q = { x, y, k & 3 }; q = f(q, 2); return q.a + q.b; }
static float deeper(float a, int k) { return (k & 7) == 0 ? a : TABLE[k & 1](a, k) + (k & 1 ? deeper : plus)(a, k - 1); }
float pointer_recursion(ARGS) { return deeper(x, k & 7); }

// jumps and switches
float jumps_out(ARGS) { float r = x; for (int i = 0; i < 8; i++) { for (int j = 0; j < 4; j++) { r += 0.5f; if (r > 3) goto high; if (j == (k & 3)) goto next; } r += y; next:; } return r; high: return -r; }
float shared_tail(ARGS) { float r = 0; switch (k & 7) { case 0: r = 1; goto tail; case 1: if (x > 0) goto tail; case 2: r = 5; break; case 6: r = y; tail: r += x; case 7: r *= 2; } return r; }
float two_tails(ARGS) { int i = 0; start: if (x * i > 5) goto a; if (i > (k & 15)) goto b; i++; if (y > i) goto start; a: i += 100; b: return i; }
float machine(ARGS) { int state = k & 3, n = 0; float r = x; while (n < 20) { n++; switch (state) { case 0: r += 1; state = r > 2 ? 2 : 1; continue; case 1: r *= 1.5f; state = 0; break; case 2: r -= 3; state = n & 1 ? 3 : 0; break; default: if (r < -4) goto end; state = 1; } r += 0.25f; } end: return r + n; }
float switch_of_switch(ARGS) { switch (k & 3) { case 0: switch ((k >> 2) & 3) { case 1: return x; case 3: break; default: return y; } return 7; case 2: return s == 3 ? x : 1; } return -1; }
float sparse_switch(ARGS) { switch (k) { case -5 ... 5: return 1; case 1000: return 2; case 70 ... 900: return 3; } return 4; }
float switch_uniform_inside(ARGS) { float r = 0; for (int i = 0; i < 6; i++) { switch ((s + i) & 3) { case 0: if (x > i) r += 1; break; case 1: r += y; break; case 2: if (k & 1) continue; r += 2; } r += 0.5f; } return r; }
float continue_outer(ARGS) { float r = 0; for (int i = 0; i < 5; i++) { for (int j = 0; j < 5; j++) if (((i * 5 + j) ^ k) % 7 == 0) goto outer; r += i; outer:; } return r; }
float endless(ARGS) { unsigned u = (unsigned)k | 1; for (int n = 0;; n++) { u = u * 1103515245u + 12345; if ((u >> 16) % 11 == 3) return n; if (n > 40 && x > 0) break; if (n > 60) return -1; } return -2; }
float conditional_sums(ARGS) { float a = 0, b = 0; for (int i = 0; i < 16; i++) { float v = p[(i + k) & 63]; if (v > x) a += v; else if (v < y) { b -= v; if (b > 9) b = 0; } } return a + b; }
float short_circuit_calls(ARGS) { int n = 0; if ((n++, x > 0) && (n++, y > 0) || (n += 5, k & 1)) n += 100; return n; }
float comma_loop(ARGS) { int a = 0, b = 20; float r = 0; for (; a < b; a += (k & 3) + 1, b--) r += a * b; return r; }
float skips(ARGS) { float r = 0; for (int i = 0, n = 0; i < 10; i++) { if (i == (k & 7)) { i += 2; continue; } do { r += x; if (r > 6) break; } while (r < 0 && n++ < 9); } return r; }
