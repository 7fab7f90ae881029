// Atomic and volatile accesses, fences, compare and exchange.

int add_relaxed(_Atomic int *p, int x) { return __c11_atomic_fetch_add(p, x, 0); }
unsigned sub_acquire(_Atomic unsigned *p) { return __c11_atomic_fetch_sub(p, 1u, 2); }
long and_release(_Atomic long *p, long m) { return __c11_atomic_fetch_and(p, m, 3); }
short or_both(_Atomic short *p, short m) { return __c11_atomic_fetch_or(p, m, 4); }
char xor_all(_Atomic char *p, char m) { return __c11_atomic_fetch_xor(p, m, 5); }
int nand_old(int *p, int m) { return __atomic_fetch_nand(p, m, 5); }
int max_signed(_Atomic int *p, int x) { return __c11_atomic_fetch_max(p, x, 5); }
unsigned min_unsigned(_Atomic unsigned *p, unsigned x) { return __c11_atomic_fetch_min(p, x, 5); }
float add_float(_Atomic float *p, float x) { return __c11_atomic_fetch_add(p, x, 0); }
void *exchange_pointer(void *_Atomic *p, void *q) { return __c11_atomic_exchange(p, q, 5); }
double exchange_double(_Atomic double *p, double x) { return __c11_atomic_exchange(p, x, 5); }

int load_acquire(_Atomic int *p) { return __c11_atomic_load(p, 2); }
float load_float(_Atomic float *p) { return __c11_atomic_load(p, 0); }
void store_release(_Atomic int *p, int x) { __c11_atomic_store(p, x, 3); }
void store_pointer(int *_Atomic *p, int *q) { __c11_atomic_store(p, q, 5); }

_Bool cas_strong(_Atomic int *p, int old, int new) {
  return __c11_atomic_compare_exchange_strong(p, &old, new, 5, 5);
}

_Bool cas_weak(_Atomic long *p, long *old, long new) {
  return __c11_atomic_compare_exchange_weak(p, old, new, 4, 2);
}

_Bool cas_pointer(int *_Atomic *p, int *old, int *new) {
  return __c11_atomic_compare_exchange_strong(p, &old, new, 3, 0);
}

void add_double(_Atomic double *p, double x) {
  double old = __c11_atomic_load(p, 0);
  while (!__c11_atomic_compare_exchange_weak(p, &old, old + x, 5, 5)) {}
}

void fences(int *a, int *b) {
  *a = 1;
  __c11_atomic_thread_fence(3);
  *b = 2;
  __c11_atomic_signal_fence(5);
  *a = *b;
  __c11_atomic_thread_fence(5);
}

int volatile_read(volatile int *p) { return *p + *p; }
void volatile_write(volatile char *p) { *p = 1; *p = 2; }
void volatile_copy(volatile double *to, volatile const double *from, int n) {
  for (int i = 0; i < n; i++) to[i] = from[i];
}

_Atomic int counter;
int next_id(void) { return counter++; }
_Bool test_and_set(_Bool *flag) { return __atomic_test_and_set(flag, 2); }
void spin(_Atomic int *lock) { while (__c11_atomic_exchange(lock, 1, 2)) while (*lock) {} }
