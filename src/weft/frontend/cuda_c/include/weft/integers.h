/* Integer intrinsics, bit casts and conversions of CUDA C++. */
#ifndef WEFT_CUDA_INTEGERS_H
#define WEFT_CUDA_INTEGERS_H

WEFT_BOTH int min(int a, int b) { return a < b ? a : b; }
WEFT_BOTH int max(int a, int b) { return a < b ? b : a; }
#define WEFT_EXTREMA(T)                                                                                                \
  WEFT_BOTH T min(T a, T b) { return a < b ? a : b; }                                                                  \
  WEFT_BOTH T max(T a, T b) { return a < b ? b : a; }
WEFT_EXTREMA(unsigned int)
WEFT_EXTREMA(long)
WEFT_EXTREMA(unsigned long)
WEFT_EXTREMA(long long)
WEFT_EXTREMA(unsigned long long)
#undef WEFT_EXTREMA
#define WEFT_MIXED(S, U)                                                                                               \
  WEFT_BOTH U min(S a, U b) { return min((U)a, b); }                                                                   \
  WEFT_BOTH U min(U a, S b) { return min(a, (U)b); }                                                                   \
  WEFT_BOTH U max(S a, U b) { return max((U)a, b); }                                                                   \
  WEFT_BOTH U max(U a, S b) { return max(a, (U)b); }
WEFT_MIXED(int, unsigned int)
WEFT_MIXED(long, unsigned long)
WEFT_MIXED(long long, unsigned long long)
#undef WEFT_MIXED
WEFT_DEVICE unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
WEFT_DEVICE unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
WEFT_DEVICE long long llmin(long long a, long long b) { return min(a, b); }
WEFT_DEVICE long long llmax(long long a, long long b) { return max(a, b); }
WEFT_DEVICE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
WEFT_DEVICE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
WEFT_DEVICE int abs(int x) { return x < 0 ? -x : x; }
WEFT_DEVICE long abs(long x) { return x < 0 ? -x : x; }
WEFT_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
WEFT_DEVICE long labs(long x) { return x < 0 ? -x : x; }
WEFT_DEVICE long long llabs(long long x) { return x < 0 ? -x : x; }

WEFT_DEVICE int __popc(unsigned int x) { return __builtin_popcount(x); }
WEFT_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
WEFT_DEVICE int __clz(int x) { return __builtin_clzg((unsigned int)x, 32); }
WEFT_DEVICE int __clzll(long long x) { return __builtin_clzg((unsigned long long)x, 64); }
WEFT_DEVICE int __ffs(int x) { return __builtin_ctzg((unsigned int)x, -1) + 1; }
WEFT_DEVICE int __ffsll(long long x) { return __builtin_ctzg((unsigned long long)x, -1) + 1; }
WEFT_DEVICE unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
WEFT_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
WEFT_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  const int step = offset < 0 ? -1 : 1;
  int left = offset < 0 ? -offset : offset;
  if (offset == 0)
    return mask >> (base & 31) & 1 ? base : 0xffffffffu;
  for (int bit = (int)base; 0 <= bit && bit < 32; bit += step)
    if ((mask >> bit & 1) && --left == 0)
      return (unsigned int)bit;
  return 0xffffffffu;
}

WEFT_DEVICE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int s) {
  const unsigned long long bytes = (unsigned long long)y << 32 | x;
  unsigned int result = 0;
#pragma unroll
  for (int k = 0; k < 4; k++)
    result |= (unsigned int)(bytes >> 8 * (s >> 4 * k & 7) & 255) << 8 * k;
  return result;
}
WEFT_DEVICE unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int n) {
  return (unsigned int)(((unsigned long long)hi << 32 | lo) << (n & 31) >> 32);
}
WEFT_DEVICE unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int n) {
  return (unsigned int)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
WEFT_DEVICE unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int n) {
  return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
WEFT_DEVICE unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int n) {
  return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}

WEFT_DEVICE int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
WEFT_DEVICE unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffff) * (b & 0xffffff); }
WEFT_DEVICE int mul24(int a, int b) { return __mul24(a, b); }
WEFT_DEVICE unsigned int umul24(unsigned int a, unsigned int b) { return __umul24(a, b); }
WEFT_DEVICE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
WEFT_DEVICE unsigned int __umulhi(unsigned int a, unsigned int b) { return (unsigned int)((unsigned long long)a * b >> 32); }
WEFT_DEVICE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
WEFT_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
WEFT_DEVICE int mulhi(int a, int b) { return __mulhi(a, b); }
WEFT_DEVICE unsigned int mulhi(unsigned int a, unsigned int b) { return __umulhi(a, b); }
WEFT_DEVICE long long mul64hi(long long a, long long b) { return __mul64hi(a, b); }
WEFT_DEVICE unsigned int __sad(int a, int b, unsigned int c) {
  return (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c;
}
WEFT_DEVICE unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) { return (a > b ? a - b : b - a) + c; }
WEFT_DEVICE int __hadd(int a, int b) { return (int)((long long)a + b >> 1); }
WEFT_DEVICE int __rhadd(int a, int b) { return (int)((long long)a + b + 1 >> 1); }
WEFT_DEVICE unsigned int __uhadd(unsigned int a, unsigned int b) { return (unsigned)((unsigned long long)a + b >> 1); }
WEFT_DEVICE unsigned int __urhadd(unsigned int a, unsigned int b) {
  return (unsigned int)((unsigned long long)a + b + 1 >> 1);
}

#define WEFT_DOT(NAME, A, B, C, ABYTE, BBYTE)                                                                          \
  WEFT_DEVICE C NAME(A a, B b, C c) {                                                                                  \
    C sum = c;                                                                                                         \
    _Pragma("unroll") for (int k = 0; k < 4; k++) sum += (C)(ABYTE)(a >> 8 * k) * (C)(BBYTE)(b >> 8 * k);              \
    return sum;                                                                                                        \
  }
WEFT_DOT(__dp4a, int, int, int, signed char, signed char)
WEFT_DOT(__dp4a, unsigned int, unsigned int, unsigned int, unsigned char, unsigned char)
#undef WEFT_DOT
WEFT_DEVICE int __dp4a(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
WEFT_DEVICE unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  return c + (unsigned)a.x * b.x + (unsigned)a.y * b.y + (unsigned)a.z * b.z + (unsigned)a.w * b.w;
}
WEFT_DEVICE int __dp2a_lo(int a, int b, int c) { return c + (short)a * (signed char)b + (a >> 16) * (signed char)(b >> 8); }
WEFT_DEVICE int __dp2a_hi(int a, int b, int c) {
  return c + (short)a * (signed char)(b >> 16) + (a >> 16) * (signed char)(b >> 24);
}

/* Four bytes, or two halves, of a word at a time. */
#define WEFT_PARTWISE(NAME, COUNT, T, EXPRESSION)                                                                      \
  WEFT_DEVICE unsigned int NAME(unsigned int a, unsigned int b) {                                                      \
    constexpr int bits = 32 / COUNT;                                                                                   \
    constexpr unsigned int all = 0xffffffffu >> (32 - bits);                                                           \
    unsigned int result = 0;                                                                                           \
    _Pragma("unroll") for (int k = 0; k < COUNT; k++) {                                                                \
      const int x = (T)(a >> bits * k & all), y = (T)(b >> bits * k & all);                                            \
      result |= ((unsigned int)(EXPRESSION) & all) << bits * k;                                                        \
    }                                                                                                                  \
    return result;                                                                                                     \
  }
#define WEFT_PARTWISE_BOTH(NAME, SUFFIX, KIND2, KIND4, EXPRESSION)                                                     \
  WEFT_PARTWISE(NAME##2##SUFFIX, 2, KIND2, EXPRESSION)                                                                 \
  WEFT_PARTWISE(NAME##4##SUFFIX, 4, KIND4, EXPRESSION)
WEFT_PARTWISE_BOTH(__vadd, , unsigned short, unsigned char, x + y)
WEFT_PARTWISE_BOTH(__vsub, , unsigned short, unsigned char, x - y)
WEFT_PARTWISE_BOTH(__vmaxs, , short, signed char, x > y ? x : y)
WEFT_PARTWISE_BOTH(__vmins, , short, signed char, x < y ? x : y)
WEFT_PARTWISE_BOTH(__vmaxu, , unsigned short, unsigned char, x > y ? x : y)
WEFT_PARTWISE_BOTH(__vminu, , unsigned short, unsigned char, x < y ? x : y)
WEFT_PARTWISE_BOTH(__vabsdiffs, , short, signed char, x > y ? x - y : y - x)
WEFT_PARTWISE_BOTH(__vabsdiffu, , unsigned short, unsigned char, x > y ? x - y : y - x)
WEFT_PARTWISE_BOTH(__vavgu, , unsigned short, unsigned char, (x + y + 1) >> 1)
WEFT_PARTWISE_BOTH(__vavgs, , short, signed char, (x + y + (x + y >= 0)) >> 1)
WEFT_PARTWISE_BOTH(__vcmpeq, , unsigned short, unsigned char, x == y ? -1 : 0)
WEFT_PARTWISE_BOTH(__vcmpne, , unsigned short, unsigned char, x != y ? -1 : 0)
WEFT_PARTWISE_BOTH(__vcmpgtu, , unsigned short, unsigned char, x > y ? -1 : 0)
WEFT_PARTWISE_BOTH(__vcmpgts, , short, signed char, x > y ? -1 : 0)
WEFT_PARTWISE_BOTH(__vcmpltu, , unsigned short, unsigned char, x < y ? -1 : 0)
WEFT_PARTWISE_BOTH(__vcmplts, , short, signed char, x < y ? -1 : 0)
WEFT_PARTWISE_BOTH(__vcmpgeu, , unsigned short, unsigned char, x >= y ? -1 : 0)
WEFT_PARTWISE_BOTH(__vcmpleu, , unsigned short, unsigned char, x <= y ? -1 : 0)
WEFT_PARTWISE(__vaddus2, 2, unsigned short, x + y > 65535 ? 65535 : x + y)
WEFT_PARTWISE(__vaddus4, 4, unsigned char, x + y > 255 ? 255 : x + y)
WEFT_PARTWISE(__vsubus2, 2, unsigned short, x > y ? x - y : 0)
WEFT_PARTWISE(__vsubus4, 4, unsigned char, x > y ? x - y : 0)
WEFT_PARTWISE(__vaddss2, 2, short, x + y > 32767 ? 32767 : x + y < -32768 ? -32768 : x + y)
WEFT_PARTWISE(__vaddss4, 4, signed char, x + y > 127 ? 127 : x + y < -128 ? -128 : x + y)
WEFT_PARTWISE(__vsubss2, 2, short, x - y > 32767 ? 32767 : x - y < -32768 ? -32768 : x - y)
WEFT_PARTWISE(__vsubss4, 4, signed char, x - y > 127 ? 127 : x - y < -128 ? -128 : x - y)
#undef WEFT_PARTWISE_BOTH
#undef WEFT_PARTWISE
WEFT_DEVICE unsigned int __vsads4(unsigned int a, unsigned int b) {
  const unsigned int d = __vabsdiffs4(a, b);
  return (d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24);
}
WEFT_DEVICE unsigned int __vsadu4(unsigned int a, unsigned int b) {
  const unsigned int d = __vabsdiffu4(a, b);
  return (d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24);
}

template <class To, class From> static __inline__ __device__ __attribute__((always_inline, nodebug)) To weft_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "bits of another size");
  return __builtin_bit_cast(To, x);
}
WEFT_DEVICE int __float_as_int(float x) { return weft_bits<int>(x); }
WEFT_DEVICE unsigned int __float_as_uint(float x) { return weft_bits<unsigned int>(x); }
WEFT_DEVICE float __int_as_float(int x) { return weft_bits<float>(x); }
WEFT_DEVICE float __uint_as_float(unsigned int x) { return weft_bits<float>(x); }
WEFT_DEVICE long long __double_as_longlong(double x) { return weft_bits<long long>(x); }
WEFT_DEVICE double __longlong_as_double(long long x) { return weft_bits<double>(x); }
WEFT_DEVICE int __double2hiint(double x) { return (int)(weft_bits<long long>(x) >> 32); }
WEFT_DEVICE int __double2loint(double x) { return (int)weft_bits<long long>(x); }
WEFT_DEVICE double __hiloint2double(int hi, int lo) {
  return weft_bits<double>((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}
/* Which space a generic address leads into is not known when a kernel runs; its offset is the address. */
WEFT_DEVICE size_t __cvta_generic_to_shared(const void *p) { return (size_t)p; }
WEFT_DEVICE size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }

#endif
