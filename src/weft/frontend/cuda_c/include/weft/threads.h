/* Threads among each other: barriers, fences, warps of 32 threads, atomic operations. */
#ifndef WEFT_CUDA_THREADS_H
#define WEFT_CUDA_THREADS_H

#define WEFT_MEETING extern "C" __attribute__((device, convergent))
WEFT_MEETING int weft_barrier_count(int) __asm__("__weft_work_group_count");
WEFT_MEETING int weft_barrier_and(int) __asm__("__weft_work_group_all");
WEFT_MEETING int weft_barrier_or(int) __asm__("__weft_work_group_any");
WEFT_MEETING void weft_warp_sync(unsigned, unsigned) __asm__("__weft_sub_group_barrier");
WEFT_MEETING int weft_warp_any(int) __asm__("__weft_sub_group_any");
WEFT_MEETING int weft_warp_all(int) __asm__("__weft_sub_group_all");
WEFT_MEETING unsigned long weft_warp_ballot(int) __asm__("__weft_sub_group_ballot");
WEFT_MEETING unsigned long weft_warp_active(void) __asm__("__weft_sub_group_active");
WEFT_MEETING unsigned long weft_warp_match(unsigned long) __asm__("__weft_sub_group_match");
WEFT_MEETING int weft_warp_shuffle_i32(int, unsigned) __asm__("__weft_sub_group_shuffle_i32");
WEFT_MEETING long weft_warp_shuffle_i64(long, unsigned) __asm__("__weft_sub_group_shuffle_i64");
WEFT_PRIMITIVE unsigned weft_lane(void) __asm__("__weft_sub_group_local_id") __attribute__((const));
WEFT_PRIMITIVE long long weft_clock(void) __asm__("__weft_clock");
#undef WEFT_MEETING

#define WEFT_CONVERGENT static __inline__ __attribute__((device, always_inline, convergent, nodebug))
WEFT_CONVERGENT int __syncthreads_count(int p) { return weft_barrier_count(p != 0); }
WEFT_CONVERGENT int __syncthreads_and(int p) { return weft_barrier_and(p != 0); }
WEFT_CONVERGENT int __syncthreads_or(int p) { return weft_barrier_or(p != 0); }
WEFT_CONVERGENT void __syncwarp(unsigned mask = 0xffffffffu) { weft_warp_sync(0, 0); }
WEFT_DEVICE void __threadfence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
WEFT_DEVICE void __threadfence_block(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
WEFT_DEVICE void __threadfence_system(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
WEFT_DEVICE long long clock64(void) { return weft_clock(); }
WEFT_DEVICE int clock(void) { return (int)weft_clock(); }
WEFT_DEVICE void __nanosleep(unsigned) {}
WEFT_DEVICE unsigned weft_lane_bit(void) { return 1u << weft_lane(); }

/* A mask names the threads that take part: it restricts who counts, and nobody is waited for. Tiles of a warp, each with
   its mask, vote for themselves; where all threads are named nothing is asked but the vote. */
#define WEFT_WHOLE_WARP __attribute__((enable_if(mask == 0xffffffffu, "the mask names the warp")))
WEFT_CONVERGENT int __any_sync(unsigned mask, int p) { return (weft_warp_ballot(p != 0) & mask) != 0; }
WEFT_CONVERGENT int __any_sync(unsigned mask, int p) WEFT_WHOLE_WARP { return weft_warp_any(p != 0); }
WEFT_CONVERGENT int __all_sync(unsigned mask, int p) { return (weft_warp_ballot(p == 0) & mask) == 0; }
WEFT_CONVERGENT int __all_sync(unsigned mask, int p) WEFT_WHOLE_WARP { return weft_warp_all(p != 0); }
#undef WEFT_WHOLE_WARP
WEFT_CONVERGENT int __uni_sync(unsigned mask, int p) { return __any_sync(mask, p) == __all_sync(mask, p); }
WEFT_CONVERGENT unsigned __ballot_sync(unsigned mask, int p) { return (unsigned)weft_warp_ballot(p != 0) & mask; }
WEFT_CONVERGENT unsigned __activemask(void) { return (unsigned)weft_warp_active(); }
WEFT_CONVERGENT int __any(int p) { return weft_warp_any(p != 0); }
WEFT_CONVERGENT int __all(int p) { return weft_warp_all(p != 0); }
WEFT_CONVERGENT unsigned __ballot(int p) { return (unsigned)weft_warp_ballot(p != 0); }

template <class T> WEFT_CONVERGENT unsigned __match_any_sync(unsigned mask, T x) {
  if constexpr (sizeof(T) == 8)
    return (unsigned)weft_warp_match(weft_bits<unsigned long>(x)) & mask;
  else
    return (unsigned)weft_warp_match(weft_bits<unsigned int>(x)) & mask;
}
template <class T> WEFT_CONVERGENT unsigned __match_all_sync(unsigned mask, T x, int *same) {
  const unsigned here = __activemask() & mask, matching = __match_any_sync(mask, x);
  *same = matching == here;
  return matching == here ? here : 0u;
}

/* A lane that is not there has 0, as programs find it on GPUs, where that is not defined. */
WEFT_CONVERGENT int weft_read_i32(int x, unsigned lane) {
  const int there = weft_warp_shuffle_i32(x, lane);
  return __activemask() >> (lane & 31) & 1 ? there : 0;
}
WEFT_CONVERGENT long weft_read_i64(long x, unsigned lane) {
  const long there = weft_warp_shuffle_i64(x, lane);
  return __activemask() >> (lane & 31) & 1 ? there : 0;
}

template <class T> WEFT_CONVERGENT T weft_shuffle(T x, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return weft_bits<T>(weft_read_i64(weft_bits<long>(x), lane));
  else if constexpr (sizeof(T) == 4)
    return weft_bits<T>(weft_read_i32(weft_bits<int>(x), lane));
  else if constexpr (sizeof(T) == 2)
    return weft_bits<T>((short)weft_read_i32(weft_bits<short>(x), lane));
  else if constexpr (sizeof(T) == 1)
    return weft_bits<T>((signed char)weft_read_i32(weft_bits<signed char>(x), lane));
  else {
    /* Vectors and records: a word at a time. */
    struct words {
      int word[sizeof(T) / 4];
    };
    static_assert(sizeof(words) == sizeof(T), "what is shuffled is whole words");
    words all = weft_bits<words>(x);
    for (int k = 0; k < (int)(sizeof(T) / 4); k++)
      all.word[k] = weft_read_i32(all.word[k], lane);
    return weft_bits<T>(all);
  }
}
/* Of `width` consecutive threads: beyond them a thread gets its own value. */
WEFT_DEVICE unsigned weft_lane_of(unsigned lane, int width) {
  const unsigned first = weft_lane() & ~(unsigned)(width - 1);
  return first | (lane & (unsigned)(width - 1));
}
WEFT_DEVICE unsigned weft_lane_before(unsigned n, int width) {
  const unsigned lane = weft_lane(), place = lane & (unsigned)(width - 1);
  return place >= n ? lane - n : lane;
}
WEFT_DEVICE unsigned weft_lane_behind(unsigned n, int width) {
  const unsigned lane = weft_lane(), place = lane & (unsigned)(width - 1);
  return n < (unsigned)width - place ? lane + n : lane;
}
/* A thread of another segment is reached in those before it only. */
WEFT_DEVICE unsigned weft_lane_across(int bits, int width) {
  const unsigned lane = weft_lane(), other = lane ^ (unsigned)bits;
  return other <= (lane | (unsigned)(width - 1)) ? other : lane;
}
#define WEFT_SHUFFLES(T)                                                                                               \
  WEFT_CONVERGENT T __shfl_sync(unsigned mask, T x, int lane, int width = 32) {                                        \
    return weft_shuffle(x, width == 32 ? (unsigned)lane & 31 : weft_lane_of((unsigned)lane, width));                   \
  }                                                                                                                    \
  WEFT_CONVERGENT T __shfl_up_sync(unsigned mask, T x, unsigned n, int width = 32) {                                   \
    return weft_shuffle(x, weft_lane_before(n, width));                                                                \
  }                                                                                                                    \
  WEFT_CONVERGENT T __shfl_down_sync(unsigned mask, T x, unsigned n, int width = 32) {                                 \
    return weft_shuffle(x, weft_lane_behind(n, width));                                                                \
  }                                                                                                                    \
  WEFT_CONVERGENT T __shfl_xor_sync(unsigned mask, T x, int bits, int width = 32) {                                    \
    return weft_shuffle(x, weft_lane_across(bits, width));                                                             \
  }                                                                                                                    \
  WEFT_CONVERGENT T __shfl(T x, int lane, int width = 32) { return __shfl_sync(~0u, x, lane, width); }                 \
  WEFT_CONVERGENT T __shfl_up(T x, unsigned n, int width = 32) { return __shfl_up_sync(~0u, x, n, width); }            \
  WEFT_CONVERGENT T __shfl_down(T x, unsigned n, int width = 32) { return __shfl_down_sync(~0u, x, n, width); }        \
  WEFT_CONVERGENT T __shfl_xor(T x, int bits, int width = 32) { return __shfl_xor_sync(~0u, x, bits, width); }
WEFT_SHUFFLES(int)
WEFT_SHUFFLES(unsigned int)
WEFT_SHUFFLES(long)
WEFT_SHUFFLES(unsigned long)
WEFT_SHUFFLES(long long)
WEFT_SHUFFLES(unsigned long long)
WEFT_SHUFFLES(float)
WEFT_SHUFFLES(double)

/* In the order of the threads. */
template <class T, class F> WEFT_CONVERGENT T weft_warp_fold(unsigned mask, T x, F f) {
  unsigned left = mask & __activemask();
  T result = weft_shuffle(x, (unsigned)__builtin_ctz(left));
  for (left &= left - 1; left; left &= left - 1)
    result = f(result, weft_shuffle(x, (unsigned)__builtin_ctz(left)));
  return result;
}
#define WEFT_REDUCTION(T, NAME, EXPRESSION)                                                                            \
  WEFT_CONVERGENT T __reduce_##NAME##_sync(unsigned mask, T x) {                                                       \
    return weft_warp_fold(mask, x, [](T a, T b) { return (T)(EXPRESSION); });                                          \
  }
WEFT_REDUCTION(int, add, (unsigned)a + (unsigned)b)
WEFT_REDUCTION(unsigned, add, a + b)
WEFT_REDUCTION(int, min, a < b ? a : b)
WEFT_REDUCTION(unsigned, min, a < b ? a : b)
WEFT_REDUCTION(int, max, a < b ? b : a)
WEFT_REDUCTION(unsigned, max, a < b ? b : a)
WEFT_REDUCTION(unsigned, and, a &b)
WEFT_REDUCTION(unsigned, or, a | b)
WEFT_REDUCTION(unsigned, xor, a ^ b)
#undef WEFT_REDUCTION

#define WEFT_ATOMIC(T, NAME, OPERATION)                                                                                \
  WEFT_DEVICE T atomic##NAME(T *p, T x) { return __atomic_fetch_##OPERATION(p, x, __ATOMIC_RELAXED); }                 \
  WEFT_DEVICE T atomic##NAME##_block(T *p, T x) { return atomic##NAME(p, x); }                                         \
  WEFT_DEVICE T atomic##NAME##_system(T *p, T x) { return atomic##NAME(p, x); }
#define WEFT_ATOMICS(T)                                                                                                \
  WEFT_ATOMIC(T, Min, min)                                                                                             \
  WEFT_ATOMIC(T, Max, max)                                                                                             \
  WEFT_ATOMIC(T, And, and)                                                                                             \
  WEFT_ATOMIC(T, Or, or)                                                                                               \
  WEFT_ATOMIC(T, Xor, xor)                                                                                             \
  WEFT_EXCHANGES(T)                                                                                                    \
  WEFT_SUMS(T)
#define WEFT_SUMS(T)                                                                                                   \
  WEFT_ATOMIC(T, Add, add)                                                                                             \
  WEFT_ATOMIC(T, Sub, sub)
#define WEFT_EXCHANGES(T)                                                                                              \
  WEFT_DEVICE T atomicExch(T *p, T x) { return __atomic_exchange_n(p, x, __ATOMIC_RELAXED); }                          \
  WEFT_DEVICE T atomicExch_block(T *p, T x) { return atomicExch(p, x); }                                               \
  WEFT_DEVICE T atomicExch_system(T *p, T x) { return atomicExch(p, x); }                                              \
  WEFT_SWAPS(T)
#define WEFT_SWAPS(T)                                                                                                  \
  WEFT_DEVICE T atomicCAS(T *p, T old, T x) {                                                                          \
    __atomic_compare_exchange_n(p, &old, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                                \
    return old;                                                                                                        \
  }                                                                                                                    \
  WEFT_DEVICE T atomicCAS_block(T *p, T old, T x) { return atomicCAS(p, old, x); }                                     \
  WEFT_DEVICE T atomicCAS_system(T *p, T old, T x) { return atomicCAS(p, old, x); }
WEFT_ATOMICS(int)
WEFT_ATOMICS(unsigned int)
WEFT_ATOMICS(long)
WEFT_ATOMICS(unsigned long)
WEFT_ATOMICS(long long)
WEFT_ATOMICS(unsigned long long)
WEFT_SUMS(float)
WEFT_SUMS(double)
WEFT_SWAPS(unsigned short)
#define WEFT_FLOAT_EXCHANGE(T, BITS)                                                                                   \
  WEFT_DEVICE T atomicExch(T *p, T x) {                                                                                \
    return weft_bits<T>(__atomic_exchange_n((BITS *)p, weft_bits<BITS>(x), __ATOMIC_RELAXED));                         \
  }
WEFT_FLOAT_EXCHANGE(float, int)
WEFT_FLOAT_EXCHANGE(double, long long)
/* CUDA has these of integers only, and programs define their own: as templates they stand back behind those. */
#define WEFT_FLOAT_EXTREMUM(NAME, OPERATION)                                                                           \
  template <class T> WEFT_DEVICE weft_float_t<T> atomic##NAME(T *p, T x) {                                           \
    return __atomic_fetch_##OPERATION(p, x, __ATOMIC_RELAXED);                                                         \
  }
template <class T> struct weft_float {};
template <> struct weft_float<float> {
  typedef float type;
};
template <> struct weft_float<double> {
  typedef double type;
};
template <class T> using weft_float_t = typename weft_float<T>::type;
WEFT_FLOAT_EXTREMUM(Min, min)
WEFT_FLOAT_EXTREMUM(Max, max)
#undef WEFT_FLOAT_EXTREMUM
#undef WEFT_FLOAT_EXCHANGE
WEFT_DEVICE unsigned atomicInc(unsigned *p, unsigned x) { return __nvvm_atom_inc_gen_ui(p, x); }
WEFT_DEVICE unsigned atomicDec(unsigned *p, unsigned x) { return __nvvm_atom_dec_gen_ui(p, x); }
#undef WEFT_SWAPS
#undef WEFT_EXCHANGES
#undef WEFT_SUMS
#undef WEFT_ATOMICS
#undef WEFT_ATOMIC

WEFT_DEVICE void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
WEFT_DEVICE void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
WEFT_DEVICE void *memset(void *to, int x, size_t n) { return __builtin_memset(to, x, n); }

/* Loads and stores by way of a cache, which are like any. */
#define WEFT_LOAD(NAME)                                                                                                \
  template <class T> static __inline__ __device__ __attribute__((always_inline, nodebug)) T NAME(const T *p) { return *p; }
WEFT_LOAD(__ldg)
WEFT_LOAD(__ldca)
WEFT_LOAD(__ldcg)
WEFT_LOAD(__ldcs)
WEFT_LOAD(__ldlu)
WEFT_LOAD(__ldcv)
#undef WEFT_LOAD
#define WEFT_STORE(NAME)                                                                                               \
  template <class T> static __inline__ __device__ __attribute__((always_inline, nodebug)) void NAME(T *p, T x) { *p = x; }
WEFT_STORE(__stcg)
WEFT_STORE(__stcs)
WEFT_STORE(__stwb)
WEFT_STORE(__stwt)
#undef WEFT_STORE

#endif
