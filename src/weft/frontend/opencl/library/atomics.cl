/* Atomic functions of integers (OpenCL C 1.2, 6.12.11), and those of the 32- and 64-bit atomics extensions: all are
 * relaxed. */

#define FETCH(T, SPACE, NAME, BUILT_IN)                                                                                \
  T BUILTIN atomic_##NAME(volatile SPACE T *p, T x) { return BUILT_IN((SPACE T *)p, x, __ATOMIC_RELAXED); }            \
  T BUILTIN atom_##NAME(volatile SPACE T *p, T x) { return BUILT_IN((SPACE T *)p, x, __ATOMIC_RELAXED); }
#define FETCH_1(T, SPACE, NAME, BUILT_IN)                                                                              \
  T BUILTIN atomic_##NAME(volatile SPACE T *p) { return BUILT_IN((SPACE T *)p, (T)1, __ATOMIC_RELAXED); }              \
  T BUILTIN atom_##NAME(volatile SPACE T *p) { return BUILT_IN((SPACE T *)p, (T)1, __ATOMIC_RELAXED); }
#define EXCHANGE(T, SPACE, PREFIX)                                                                                     \
  T BUILTIN PREFIX##_cmpxchg(volatile SPACE T *p, T expected, T x) {                                                   \
    __atomic_compare_exchange_n((SPACE T *)p, &expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                \
    return expected;                                                                                                   \
  }
#define LEGACY(T, SPACE)                                                                                               \
  FETCH(T, SPACE, add, __atomic_fetch_add)                                                                             \
  FETCH(T, SPACE, sub, __atomic_fetch_sub)                                                                             \
  FETCH(T, SPACE, and, __atomic_fetch_and)                                                                             \
  FETCH(T, SPACE, or, __atomic_fetch_or)                                                                               \
  FETCH(T, SPACE, xor, __atomic_fetch_xor)                                                                             \
  FETCH(T, SPACE, min, __atomic_fetch_min)                                                                             \
  FETCH(T, SPACE, max, __atomic_fetch_max)                                                                             \
  FETCH(T, SPACE, xchg, __atomic_exchange_n)                                                                           \
  FETCH_1(T, SPACE, inc, __atomic_fetch_add)                                                                           \
  FETCH_1(T, SPACE, dec, __atomic_fetch_sub)                                                                           \
  EXCHANGE(T, SPACE, atomic)                                                                                           \
  EXCHANGE(T, SPACE, atom)
#define LEGACIES(SPACE)                                                                                                \
  LEGACY(int, SPACE)                                                                                                   \
  LEGACY(uint, SPACE)                                                                                                  \
  LEGACY(long, SPACE)                                                                                                  \
  LEGACY(ulong, SPACE)                                                                                                 \
  float BUILTIN atomic_xchg(volatile SPACE float *p, float x) {                                                        \
    return as_float(__atomic_exchange_n((SPACE int *)p, as_int(x), __ATOMIC_RELAXED));                                 \
  }
LEGACIES(__global)
LEGACIES(__local)
LEGACIES(__generic)
