/* Copies between global and local memory, and prefetching (OpenCL C 1.2, 6.12.10; 3.0, 6.15.11). The work-items of a
 * work-group share a copy among them and then meet where it is waited for: events have nothing to tell. */

size_t __weft_local_id(uint dimension) EXTERN("__weft_get_local_id");
size_t __weft_local_size(uint dimension) EXTERN("__weft_get_local_size");
void __weft_barrier(uint flags, uint scope) __attribute__((convergent)) EXTERN("__weft_barrier");

#define HELPER static __attribute__((always_inline))
HELPER size_t item(void) {
  return (__weft_local_id(2) * __weft_local_size(1) + __weft_local_id(1)) * __weft_local_size(0) + __weft_local_id(0);
}
HELPER size_t items(void) { return __weft_local_size(0) * __weft_local_size(1) * __weft_local_size(2); }

#define COPY(T, TO, FROM)                                                                                              \
  event_t BUILTIN async_work_group_copy(TO T *to, const FROM T *from, size_t count, event_t event) {                   \
    for (size_t i = item(); i < count; i += items())                                                                   \
      to[i] = from[i];                                                                                                 \
    return event;                                                                                                      \
  }
#define COPIES(T)                                                                                                      \
  COPY(T, __local, __global)                                                                                           \
  COPY(T, __global, __local)                                                                                           \
  event_t BUILTIN async_work_group_strided_copy(__local T *to, const __global T *from, size_t count, size_t stride,    \
                                                event_t event) {                                                       \
    for (size_t i = item(); i < count; i += items())                                                                   \
      to[i] = from[i * stride];                                                                                        \
    return event;                                                                                                      \
  }                                                                                                                    \
  event_t BUILTIN async_work_group_strided_copy(__global T *to, const __local T *from, size_t count, size_t stride,    \
                                                event_t event) {                                                       \
    for (size_t i = item(); i < count; i += items())                                                                   \
      to[i * stride] = from[i];                                                                                        \
    return event;                                                                                                      \
  }                                                                                                                    \
  void BUILTIN prefetch(const __global T *p, size_t count) {}
#define OF_WIDTHS(T) COPIES(T) COPIES(T##2) COPIES(T##3) COPIES(T##4) COPIES(T##8) COPIES(T##16)
OF_WIDTHS(char)
OF_WIDTHS(uchar)
OF_WIDTHS(short)
OF_WIDTHS(ushort)
OF_WIDTHS(int)
OF_WIDTHS(uint)
OF_WIDTHS(long)
OF_WIDTHS(ulong)
OF_WIDTHS(float)
OF_WIDTHS(double)
OF_WIDTHS(half)

#define WAITING(SPACE)                                                                                                 \
  void BUILTIN __attribute__((convergent)) wait_group_events(int count, SPACE event_t *events) {                       \
    __weft_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_scope_work_group);                               \
  }
WAITING(__private)
WAITING(__generic)
