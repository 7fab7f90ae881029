/* Between numbers of 16 bits and integers. */
#ifndef WEFT_CUDA_NUMBER16_H
#define WEFT_CUDA_NUMBER16_H

#include "cuda.h"

/* A double that is rounded to few digits as an integer of 64 bits is: what its own digits do not hold sets the last. */
WEFT_BOTH double weft_sticky(long long x) {
  const bool large = x >= 1ll << 53 || x <= -(1ll << 53);
  return (double)(large ? (x & ~0x7ffll) | ((x & 0x7ff) != 0) << 10 : x);
}
WEFT_BOTH double weft_sticky(unsigned long long x) {
  return (double)(x >> 53 ? (x & ~0xfffull) | (unsigned long long)((x & 0xfff) != 0) << 11 : x);
}

/* An integer from a number: the nearest one of its type toward zero, and 0 from NaN. */
template <class T> WEFT_BOTH constexpr T weft_whole(float x) {
  constexpr bool negative = (T)-1 < (T)0;
  constexpr T high = (T)(negative ? ((((T)1 << (sizeof(T) * 8 - 2)) - 1) * 2 + 1) : (T)-1), low = (T)(negative ? -high - 1 : 0);
  return x != x ? (T)0 : x >= (float)(high / 2 + 1) * 2.0f ? high : x <= (float)low ? low : (T)x;
}

#endif
