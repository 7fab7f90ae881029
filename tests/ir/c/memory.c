// Memory: copies, fills, lifetimes, allocas, address arithmetic, alignment, restrict, address spaces.

typedef unsigned long size;

void copy(char *restrict to, const char *restrict from, size n) { __builtin_memcpy(to, from, n); }
void move(void *to, const void *from, size n) { __builtin_memmove(to, from, n); }
void clear(int *p, size n) { __builtin_memset(p, 0, n * sizeof *p); }
void copy_fixed(long *to, const long *from) { __builtin_memcpy(to, from, 64); }
int local_array(int i) {
  int t[8] = {1, 2, 3, 5, 8};
  t[i & 7] += i;
  return t[(i + 1) & 7];
}
float local_table(int i) {
  const float t[] = {0.5f, 1.5f, 2.5f, 3.5f};
  return t[i & 3];
}
int variable_length(int n) {
  int v[n];
  for (int i = 0; i < n; i++) v[i] = i * i;
  return v[n - 1];
}
int *dynamic(int n, int **keep) {
  int *p = __builtin_alloca(n * sizeof(int));
  *keep = p;
  p[0] = n;
  return *keep;
}
int scopes(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    volatile int t[4];
    t[i & 3] = i;
    s += t[i & 3];
  }
  return s;
}
long difference(int *a, int *b) { return a - b; }
int compare_pointers(char *a, char *b) { return a < b ? -1 : a == b ? 0 : 1; }
int *offset(int *p, long i, short j) { return p + i - j; }
size address(void *p) { return (size)p & 15; }
void *from_address(size a) { return (void *)a; }
double *aligned(double *p) { return __builtin_assume_aligned(p, 64); }
double aligned_sum(const double *p, int n) {
  const double *q = __builtin_assume_aligned(p, 32);
  double s = 0;
  for (int i = 0; i < n; i++) s += q[i];
  return s;
}
int unaligned(const char *p) {
  struct __attribute__((packed)) { int v; } const *q = (void *)p;
  return q->v;
}
int two_dimensional(int a[][16], int i, int j) { return a[i][j] + a[j & 3][15]; }
int matrix_sum(int rows, int cols, int m[rows][cols]) {
  int s = 0;
  for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) s += m[i][j];
  return s;
}
char *find_end(char *s) { while (*s) s++; return s; }
int address_taken(int x) {
  int *p = &x, **q = &p;
  **q += 2;
  return x;
}
int near(__attribute__((address_space(1))) int *p) { return p[1]; }
void across(__attribute__((address_space(3))) float *to, __attribute__((address_space(1))) const float *from) {
  *to = *from;
}
int prefetched(const int *p) { __builtin_prefetch(p + 64, 0, 1); return *p; }
void non_temporal(float *p, float x) { __builtin_nontemporal_store(x, p); }
size object_size(void) { char b[24]; return __builtin_object_size(b, 0); }
size dynamic_size(char *p) { return __builtin_dynamic_object_size(p, 1); }
void checked(int *p, int n) { if (n < 0) __builtin_trap(); p[n] = 1; }
