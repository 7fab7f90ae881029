/* Loads and stores of vectors (OpenCL C 1.2, 6.12.7; 3.0, 6.15.7). An address is that of an element only. */

#define LOAD(T, WIDTH, SPACE)                                                                                          \
  T##WIDTH __attribute__((overloadable, pure)) vload##WIDTH(size_t offset, const SPACE T *p) {                         \
    typedef T##WIDTH __attribute__((aligned(sizeof(T)))) loose;                                                        \
    return *(const SPACE loose *)(p + offset * WIDTH);                                                                 \
  }
#define STORE(T, WIDTH, SPACE)                                                                                         \
  void BUILTIN vstore##WIDTH(T##WIDTH value, size_t offset, SPACE T *p) {                                              \
    typedef T##WIDTH __attribute__((aligned(sizeof(T)))) loose;                                                        \
    *(SPACE loose *)(p + offset * WIDTH) = value;                                                                      \
  }

/* A vector of three takes the room of four, but is loaded from and stored to three elements. */
#define LOAD_3(T, SPACE)                                                                                               \
  T##3 __attribute__((overloadable, pure)) vload3(size_t offset, const SPACE T *p) {                                   \
    return (T##3)(p[3 * offset], p[3 * offset + 1], p[3 * offset + 2]);                                                \
  }
#define STORE_3(T, SPACE)                                                                                              \
  void BUILTIN vstore3(T##3 value, size_t offset, SPACE T *p) {                                                        \
    p[3 * offset] = value.x;                                                                                           \
    p[3 * offset + 1] = value.y;                                                                                       \
    p[3 * offset + 2] = value.z;                                                                                       \
  }

#define LOADS(T, SPACE)                                                                                                \
  LOAD(T, 2, SPACE) LOAD_3(T, SPACE) LOAD(T, 4, SPACE) LOAD(T, 8, SPACE) LOAD(T, 16, SPACE)
#define STORES(T, SPACE)                                                                                               \
  STORE(T, 2, SPACE) STORE_3(T, SPACE) STORE(T, 4, SPACE) STORE(T, 8, SPACE) STORE(T, 16, SPACE)
#define BOTH(T, SPACE) LOADS(T, SPACE) STORES(T, SPACE)
#define IN_ALL_SPACES(T)                                                                                               \
  BOTH(T, __global) BOTH(T, __local) BOTH(T, __private) BOTH(T, __generic) LOADS(T, __constant)
IN_ALL_SPACES(char)
IN_ALL_SPACES(uchar)
IN_ALL_SPACES(short)
IN_ALL_SPACES(ushort)
IN_ALL_SPACES(int)
IN_ALL_SPACES(uint)
IN_ALL_SPACES(long)
IN_ALL_SPACES(ulong)
IN_ALL_SPACES(float)
IN_ALL_SPACES(double)
IN_ALL_SPACES(half)
