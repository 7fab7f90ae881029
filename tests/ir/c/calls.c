// Calls: recursion, pointers to functions, tail calls, conventions, attributes, assembly.

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
int is_odd(unsigned n);
int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }
int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
void hanoi(int n, int from, int to, void (*move)(int, int)) {
  if (n == 0) return;
  hanoi(n - 1, from, 3 - from - to, move);
  move(from, to);
  hanoi(n - 1, 3 - from - to, to, move);
}
typedef int (*binary)(int, int);
int apply(binary f, int a, int b) { return f(a, b); }
static int plus(int a, int b) { return a + b; }
static int minus(int a, int b) { return a - b; }
binary pick(int which) { return which ? plus : minus; }
int fold(binary f, const int *x, int n, int start) {
  for (int i = 0; i < n; i++) start = f(start, x[i]);
  return start;
}
int printf(const char *, ...);
int say(int x, double y) { return printf("%d %f\n", x, y); }
int unprototyped();
int call_unprototyped(int x) { return unprototyped(x, 2.0); }
__attribute__((noinline)) int stays(int x) { return x + 1; }
__attribute__((always_inline)) inline static int inlined(int x) { return x * 3; }
int uses_both(int x) { return stays(x) + inlined(x); }
__attribute__((noreturn)) void stop(int code);
int may_stop(int x) { if (x < 0) stop(1); return x; }
__attribute__((const)) int pure_function(int);
int calls_pure(int x) { return pure_function(x) + pure_function(x); }
__attribute__((cold)) void rare(void);
void sometimes(int x) { if (x == 77) rare(); }
int must_tail(int n, int acc) {
  if (n == 0) return acc;
  __attribute__((musttail)) return must_tail(n - 1, acc + n);
}
__attribute__((vectorcall)) float vector_call(float a, float b) { return a * b; }
float call_vector_call(float x) { return vector_call(x, 2.0f); }
__attribute__((preserve_most)) int preserving(int x) { return x ^ 1; }
int sum_many(int a, int b, int c, int d, int e, int f, int g, int h) { return a + b + c + d + e + f + g + h; }
int call_many(int x) { return sum_many(x, 1, 2, 3, 4, 5, 6, 7); }
unsigned long cycles(void) {
  unsigned lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (unsigned long)hi << 32 | lo;
}
int add_in_assembly(int a, int b) {
  __asm__("addl %1, %0" : "+r"(a) : "r"(b) : "cc");
  return a;
}
void compiler_barrier(int *p) {
  *p = 1;
  __asm__ volatile("" ::: "memory");
  *p = 2;
}
void *frame(void) { return __builtin_frame_address(0); }
struct triple { long a, b, c; };
struct triple make_triple(long x) { return (struct triple){x, x + 1, x + 2}; }
long triple_sum(struct triple t) { return t.a + t.b + t.c; }
long both_triples(long x) { return triple_sum(make_triple(x)); }
int nonnull(int *p) __attribute__((nonnull));
int nonnull(int *p) { return *p; }
__attribute__((returns_nonnull)) int *never_null(int *p) { return p + 1; }
static int doubled_by(int x) { return 2 * x; }
static int tripled_by(int x) { return 3 * x; }
int chosen(int c, int x) { return (c ? doubled_by : tripled_by)(x); }
