/* Functions of atomic objects (OpenCL C 3.0, 6.15.12). Scopes are wider than asked for; of orders, relaxed is kept, and
 * every other is sequentially consistent. */

/* Three forms of each: as it is, with an order, with an order and a scope. P is what points to the object, I the integer
 * of its size. */
#define ORDERED(CALL) (order == memory_order_relaxed ? CALL(__ATOMIC_RELAXED) : CALL(__ATOMIC_SEQ_CST))
#define STRICT(CALL) CALL(__ATOMIC_SEQ_CST)

#define FORMS(RESULT, NAME, CALL, ...)                                                                                 \
  RESULT BUILTIN NAME(__VA_ARGS__) { return STRICT(CALL); }                                                            \
  RESULT BUILTIN NAME##_explicit(__VA_ARGS__, memory_order order) { return ORDERED(CALL); }                            \
  RESULT BUILTIN NAME##_explicit(__VA_ARGS__, memory_order order, memory_scope scope) { return ORDERED(CALL); }

#define LOADED(O) as_type(__atomic_load_n((SPACED(word) *)p, O == __ATOMIC_RELAXED ? O : __ATOMIC_SEQ_CST))
#define STORED(O) __atomic_store_n((SPACED(word) *)p, as_word(x), O)
#define EXCHANGED(O) as_type(__atomic_exchange_n((SPACED(word) *)p, as_word(x), O))
#define COMPARED(O) __atomic_compare_exchange_n((SPACED(word) *)p, (word *)&old, as_word(x), false, O, O)
#define ADDED(O) __atomic_fetch_add((SPACED(type) *)p, x, O)
#define SUBTRACTED(O) __atomic_fetch_sub((SPACED(type) *)p, x, O)
#define ORED(O) __atomic_fetch_or((SPACED(type) *)p, x, O)
#define XORED(O) __atomic_fetch_xor((SPACED(type) *)p, x, O)
#define ANDED(O) __atomic_fetch_and((SPACED(type) *)p, x, O)
#define LEAST(O) __atomic_fetch_min((SPACED(type) *)p, x, O)
#define MOST(O) __atomic_fetch_max((SPACED(type) *)p, x, O)
#define SET(O) (__atomic_exchange_n((SPACED(int) *)p, 1, O) != 0)
#define CLEARED(O) __atomic_store_n((SPACED(int) *)p, 0, O)

#define COMPARE(STRENGTH, EXPECTED)                                                                                    \
  bool BUILTIN atomic_compare_exchange_##STRENGTH(SPACED(volatile object) *p, EXPECTED type *expected, type x) {       \
    type old = *expected;                                                                                              \
    const bool done = COMPARED(__ATOMIC_SEQ_CST);                                                                      \
    if (!done)                                                                                                         \
      *expected = old;                                                                                                 \
    return done;                                                                                                       \
  }                                                                                                                    \
  bool BUILTIN atomic_compare_exchange_##STRENGTH##_explicit(                                                          \
      SPACED(volatile object) *p, EXPECTED type *expected, type x, memory_order order, memory_order failed) {          \
    return atomic_compare_exchange_##STRENGTH(p, expected, x);                                                         \
  }                                                                                                                    \
  bool BUILTIN atomic_compare_exchange_##STRENGTH##_explicit(                                                          \
      SPACED(volatile object) *p, EXPECTED type *expected, type x, memory_order order, memory_order failed,            \
      memory_scope scope) {                                                                                            \
    return atomic_compare_exchange_##STRENGTH(p, expected, x);                                                         \
  }

#define SPACED(T) __global T
#include "atomic_space.h"
#undef SPACED
#define SPACED(T) __local T
#include "atomic_space.h"
#undef SPACED
#define SPACED(T) __generic T
#include "atomic_space.h"
