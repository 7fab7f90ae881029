/* Words and types of CUDA C++ that clang does not have itself: what every program sees before its first line. */
#ifndef WEFT_CUDA_LANGUAGE_H
#define WEFT_CUDA_LANGUAGE_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
/* Host memory is device memory. */
#define __managed__ __attribute__((device))
#define __grid_constant__
#define __forceinline__ __inline__ __attribute__((always_inline, nodebug))
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __location__(a) __attribute__((a))
#define __annotate__(a)
#define __nv_pure__
#define __cudart_builtin__
#define __device_builtin__
#define CUDARTAPI
#define CUDAAPI
#define CUDART_CB
#define CUDA_CB

#define __WEFT__ 1
#define __CUDACC__ 1
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define __CUDA_API_VER_MAJOR__ 12
#define __CUDA_API_VER_MINOR__ 0
#define __CUDA_FP16_TYPES_EXIST__

typedef __SIZE_TYPE__ size_t;
/* Names that C libraries on Linux have, and programs take for given. */
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long clock_t;

/* A function of both sides, and one of the device. */
#define WEFT_BOTH static __inline__ __attribute__((host, device, always_inline, nodebug))
#define WEFT_DEVICE static __inline__ __attribute__((device, always_inline, nodebug))
/* A primitive of weft, or a function of the C library: device code that is defined elsewhere. */
#define WEFT_PRIMITIVE extern "C" __attribute__((device))

#define WEFT_VECTORS(T, NAME, ALIGN2, ALIGN4)                                                                          \
  struct NAME##1 {                                                                                                     \
    T x;                                                                                                               \
  };                                                                                                                   \
  struct __attribute__((aligned(ALIGN2))) NAME##2 {                                                                    \
    T x, y;                                                                                                            \
  };                                                                                                                   \
  struct NAME##3 {                                                                                                     \
    T x, y, z;                                                                                                         \
  };                                                                                                                   \
  struct __attribute__((aligned(ALIGN4))) NAME##4 {                                                                    \
    T x, y, z, w;                                                                                                      \
  };                                                                                                                   \
  WEFT_BOTH constexpr NAME##1 make_##NAME##1(T x) { return {x}; }                                                      \
  WEFT_BOTH constexpr NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                              \
  WEFT_BOTH constexpr NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                                      \
  WEFT_BOTH constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

WEFT_VECTORS(signed char, char, 2, 4)
WEFT_VECTORS(unsigned char, uchar, 2, 4)
WEFT_VECTORS(short, short, 4, 8)
WEFT_VECTORS(unsigned short, ushort, 4, 8)
WEFT_VECTORS(int, int, 8, 16)
WEFT_VECTORS(unsigned int, uint, 8, 16)
WEFT_VECTORS(long, long, 16, 16)
WEFT_VECTORS(unsigned long, ulong, 16, 16)
WEFT_VECTORS(long long, longlong, 16, 16)
WEFT_VECTORS(unsigned long long, ulonglong, 16, 16)
WEFT_VECTORS(float, float, 8, 16)
WEFT_VECTORS(double, double, 16, 16)
#undef WEFT_VECTORS

struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};

/* Ids and sizes: objects without memory, whose members are read from where the thread is. */
#define WEFT_PLACE(TYPE, NAME, REGISTER)                                                                               \
  struct TYPE {                                                                                                        \
    __declspec(property(get = get_x)) unsigned int x;                                                                  \
    __declspec(property(get = get_y)) unsigned int y;                                                                  \
    __declspec(property(get = get_z)) unsigned int z;                                                                  \
    static __inline__ __attribute__((device, always_inline, nodebug)) unsigned int get_x() {                                    \
      return __nvvm_read_ptx_sreg_##REGISTER##_x();                                                                    \
    }                                                                                                                  \
    static __inline__ __attribute__((device, always_inline, nodebug)) unsigned int get_y() {                                    \
      return __nvvm_read_ptx_sreg_##REGISTER##_y();                                                                    \
    }                                                                                                                  \
    static __inline__ __attribute__((device, always_inline, nodebug)) unsigned int get_z() {                                    \
      return __nvvm_read_ptx_sreg_##REGISTER##_z();                                                                    \
    }                                                                                                                  \
    __attribute__((device, always_inline, nodebug)) operator dim3() const { return dim3(get_x(), get_y(), get_z()); }           \
    __attribute__((device, always_inline, nodebug)) operator uint3() const { return {get_x(), get_y(), get_z()}; }              \
    __attribute__((device)) TYPE() = default;                                                                        \
    TYPE(const TYPE &) = delete;                                                                                       \
    void operator=(const TYPE &) const = delete;                                                                       \
  };                                                                                                                   \
  extern const __device__ __attribute__((weak)) TYPE NAME;

WEFT_PLACE(weft_thread_index, threadIdx, tid)
WEFT_PLACE(weft_block_index, blockIdx, ctaid)
WEFT_PLACE(weft_block_size, blockDim, ntid)
WEFT_PLACE(weft_grid_size, gridDim, nctaid)
#undef WEFT_PLACE

static __device__ constexpr const int warpSize = 32;

/* A use of these is an error that says what there is instead. */
#define WEFT_ABSENT(NAME)                                                                                              \
  template <class T = int, class... A>                                                                                 \
  __device__ T NAME(A...)                                                                                              \
      __attribute__((unavailable("weft has no textures and surfaces; pass a pointer, and read or write its elements")));
WEFT_ABSENT(tex1Dfetch)
WEFT_ABSENT(tex1D)
WEFT_ABSENT(tex1DLod)
WEFT_ABSENT(tex1DLayered)
WEFT_ABSENT(tex2D)
WEFT_ABSENT(tex2DLod)
WEFT_ABSENT(tex2DGrad)
WEFT_ABSENT(tex2Dgather)
WEFT_ABSENT(tex2DLayered)
WEFT_ABSENT(tex3D)
WEFT_ABSENT(tex3DLod)
WEFT_ABSENT(tex3DGrad)
WEFT_ABSENT(texCubemap)
WEFT_ABSENT(texCubemapLayered)
WEFT_ABSENT(surf1Dread)
WEFT_ABSENT(surf1Dwrite)
WEFT_ABSENT(surf2Dread)
WEFT_ABSENT(surf2Dwrite)
WEFT_ABSENT(surf2DLayeredread)
WEFT_ABSENT(surf2DLayeredwrite)
WEFT_ABSENT(surf3Dread)
WEFT_ABSENT(surf3Dwrite)
WEFT_ABSENT(surfCubemapread)
WEFT_ABSENT(surfCubemapwrite)
#undef WEFT_ABSENT

/* An object is made where there is memory for it. */
#define WEFT_PLACED inline __device__ __attribute__((always_inline, nodebug))
WEFT_PLACED void *operator new(size_t, void *place) noexcept { return place; }
WEFT_PLACED void *operator new[](size_t, void *place) noexcept { return place; }
#undef WEFT_PLACED

WEFT_PRIMITIVE int printf(const char *, ...);
WEFT_PRIMITIVE void __assert_fail(const char *, const char *, unsigned int, const char *);
WEFT_DEVICE void __trap(void) { __assert_fail("__trap()", "", 0, ""); }
WEFT_DEVICE void __brkpt(void) {}

#endif
