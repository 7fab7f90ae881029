/* Loads and stores of halves as float and double (OpenCL C 1.2, 6.12.7; 3.0, 6.15.7). The forms with an a have vectors
 * of three at every fourth element. */
#include "rounding.h"

#define LOADING __attribute__((overloadable, pure))
#define GET(K) (float)p[at + K]
#define GETS_1 GET(0)
#define GETS_2 GETS_1, GET(1)
#define GETS_3 GETS_2, GET(2)
#define GETS_4 GETS_3, GET(3)
#define GETS_8 GETS_4, GET(4), GET(5), GET(6), GET(7)
#define GETS_16 GETS_8, GET(8), GET(9), GET(10), GET(11), GET(12), GET(13), GET(14), GET(15)

#define LOAD(NAME, TYPE, COUNT, STRIDE, SPACE)                                                                         \
  TYPE LOADING NAME(size_t offset, const SPACE half *p) {                                                              \
    const size_t at = offset * STRIDE;                                                                                 \
    return (TYPE)(GETS_##COUNT);                                                                                       \
  }
#define LOADS(SPACE)                                                                                                   \
  LOAD(vload_half, float, 1, 1, SPACE)                                                                                 \
  LOAD(vload_half2, float2, 2, 2, SPACE)                                                                               \
  LOAD(vload_half3, float3, 3, 3, SPACE)                                                                               \
  LOAD(vload_half4, float4, 4, 4, SPACE)                                                                               \
  LOAD(vload_half8, float8, 8, 8, SPACE)                                                                               \
  LOAD(vload_half16, float16, 16, 16, SPACE)                                                                           \
  LOAD(vloada_half, float, 1, 1, SPACE)                                                                                \
  LOAD(vloada_half2, float2, 2, 2, SPACE)                                                                              \
  LOAD(vloada_half3, float3, 3, 4, SPACE)                                                                              \
  LOAD(vloada_half4, float4, 4, 4, SPACE)                                                                              \
  LOAD(vloada_half8, float8, 8, 8, SPACE)                                                                              \
  LOAD(vloada_half16, float16, 16, 16, SPACE)
LOADS(__global)
LOADS(__local)
LOADS(__private)
LOADS(__generic)
LOADS(__constant)

/* One function for all elements, inlined later. */
#define NARROWED(T, SPACE, MODE)                                                                                       \
  void BUILTIN __attribute__((noinline)) narrowed_##MODE(T x, SPACE half *p) { *p = to_half_##MODE(x); }
#define PUT(K, MODE) narrowed_##MODE(x[K], p + at + K);
#define PUTS_1(M) p[at] = to_half_##M(x);
#define PUTS_2(M) PUT(0, M) PUT(1, M)
#define PUTS_3(M) PUTS_2(M) PUT(2, M)
#define PUTS_4(M) PUTS_3(M) PUT(3, M)
#define PUTS_8(M) PUTS_4(M) PUT(4, M) PUT(5, M) PUT(6, M) PUT(7, M)
#define PUTS_16(M)                                                                                                     \
  PUTS_8(M) PUT(8, M) PUT(9, M) PUT(10, M) PUT(11, M) PUT(12, M) PUT(13, M) PUT(14, M) PUT(15, M)

#define STORE(NAME, TYPE, COUNT, STRIDE, SPACE, MODE)                                                                  \
  void BUILTIN NAME(TYPE x, size_t offset, SPACE half *p) {                                                            \
    const size_t at = offset * STRIDE;                                                                                 \
    PUTS_##COUNT(MODE)                                                                                                 \
  }
#define STORES(T, SPACE, SUFFIX, MODE)                                                                                 \
  STORE(vstore_half##SUFFIX, T, 1, 1, SPACE, MODE)                                                                     \
  STORE(vstore_half2##SUFFIX, T##2, 2, 2, SPACE, MODE)                                                                 \
  STORE(vstore_half3##SUFFIX, T##3, 3, 3, SPACE, MODE)                                                                 \
  STORE(vstore_half4##SUFFIX, T##4, 4, 4, SPACE, MODE)                                                                 \
  STORE(vstore_half8##SUFFIX, T##8, 8, 8, SPACE, MODE)                                                                 \
  STORE(vstore_half16##SUFFIX, T##16, 16, 16, SPACE, MODE)                                                             \
  STORE(vstorea_half##SUFFIX, T, 1, 1, SPACE, MODE)                                                                    \
  STORE(vstorea_half2##SUFFIX, T##2, 2, 2, SPACE, MODE)                                                                \
  STORE(vstorea_half3##SUFFIX, T##3, 3, 4, SPACE, MODE)                                                                \
  STORE(vstorea_half4##SUFFIX, T##4, 4, 4, SPACE, MODE)                                                                \
  STORE(vstorea_half8##SUFFIX, T##8, 8, 8, SPACE, MODE)                                                                \
  STORE(vstorea_half16##SUFFIX, T##16, 16, 16, SPACE, MODE)
#define IN_MODES(T, SPACE)                                                                                             \
  NARROWED(T, SPACE, rte) NARROWED(T, SPACE, rtz) NARROWED(T, SPACE, rtp) NARROWED(T, SPACE, rtn)                      \
  STORES(T, SPACE, , rte)                                                                                              \
  STORES(T, SPACE, _rte, rte) STORES(T, SPACE, _rtz, rtz) STORES(T, SPACE, _rtp, rtp) STORES(T, SPACE, _rtn, rtn)
#define IN_SPACES(T) IN_MODES(T, __global) IN_MODES(T, __local) IN_MODES(T, __private) IN_MODES(T, __generic)
IN_SPACES(float)
IN_SPACES(double)
