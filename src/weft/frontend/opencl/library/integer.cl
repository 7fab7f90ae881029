/* Integer functions (OpenCL C 1.2, 6.12.3; 3.0, 6.15.3), and those of cl_khr_extended_bit_ops and
 * cl_khr_integer_dot_product. */

#define SIGNED_ONLY(T, U, S, BITS)                                                                                     \
  U PURE abs(T x) { return x < 0 ? (U)(0 - (U)x) : (U)x; }                                                             \
  T PURE bitfield_extract_signed(T base, uint offset, uint count) {                                                    \
    return count == 0 ? (T)0 : (T)((T)((U)base << (BITS - offset - count)) >> (BITS - count));                         \
  }                                                                                                                    \
  T PURE bitfield_extract_signed(U base, uint offset, uint count) {                                                    \
    return bitfield_extract_signed((T)base, offset, count);                                                            \
  }                                                                                                                    \
  U PURE bitfield_extract_unsigned(U base, uint offset, uint count) {                                                  \
    return count == 0 ? (U)0 : (U)((U)(base << (BITS - offset - count)) >> (BITS - count));                            \
  }                                                                                                                    \
  U PURE bitfield_extract_unsigned(T base, uint offset, uint count) {                                                  \
    return bitfield_extract_unsigned((U)base, offset, count);                                                          \
  }
FOR_SIGNED(SIGNED_ONLY)

#define UNSIGNED_ONLY(T, U, S, BITS)                                                                                   \
  T PURE abs(T x) { return x; }
FOR_UNSIGNED(UNSIGNED_ONLY)

#define ANY_INTEGER(T, U, S, BITS)                                                                                     \
  U PURE abs_diff(T x, T y) { return x > y ? (U)((U)x - (U)y) : (U)((U)y - (U)x); }                                    \
  T PURE add_sat(T x, T y) { return __builtin_elementwise_add_sat(x, y); }                                             \
  T PURE sub_sat(T x, T y) { return __builtin_elementwise_sub_sat(x, y); }                                             \
  T PURE hadd(T x, T y) { return (T)((x & y) + ((x ^ y) >> 1)); }                                                      \
  T PURE rhadd(T x, T y) { return (T)((x | y) - ((x ^ y) >> 1)); }                                                     \
  T PURE rotate(T x, T n) {                                                                                            \
    uint left = (uint)n & (BITS - 1), right = (0u - left) & (BITS - 1);                                                \
    return (T)((U)((U)x << left) | (U)((U)x >> right));                                                                \
  }                                                                                                                    \
  T PURE max(T x, T y) { return x < y ? y : x; }                                                                       \
  T PURE min(T x, T y) { return y < x ? y : x; }                                                                       \
  T PURE clamp(T x, T low, T high) { return min(max(x, low), high); }                                                  \
  T PURE popcount(T x) { return (T)__builtin_popcountg((U)x); }                                                        \
  T PURE clz(T x) { return (T)__builtin_clzg((U)x, BITS); }                                                            \
  T PURE ctz(T x) { return (T)__builtin_ctzg((U)x, BITS); }                                                            \
  T PURE bit_reverse(T x) { return __builtin_elementwise_bitreverse(x); }                                              \
  T PURE bitfield_insert(T base, T insert, uint offset, uint count) {                                                  \
    U mask = count == 0 ? (U)0 : (U)((U)((U)~(U)0 >> (BITS - count)) << offset);                                       \
    return (T)(((U)base & (U)~mask) | ((U)((U)insert << offset) & mask));                                              \
  }
FOR_INTEGERS(ANY_INTEGER)

/* The product of 8 to 32 bits is exact in twice as many. */
#define NARROW_PRODUCT(T, WIDE, BITS, LOWEST, HIGHEST)                                                                 \
  T PURE mul_hi(T x, T y) { return (T)(((WIDE)x * (WIDE)y) >> BITS); }                                                 \
  T PURE mad_sat(T a, T b, T c) {                                                                                      \
    WIDE sum = (WIDE)a * (WIDE)b + (WIDE)c;                                                                            \
    sum = sum > (WIDE)HIGHEST ? (WIDE)HIGHEST : sum;                                                                   \
    return (T)(sum < (WIDE)LOWEST ? (WIDE)LOWEST : sum);                                                               \
  }
NARROW_PRODUCT(char, int, 8, SCHAR_MIN, SCHAR_MAX)
NARROW_PRODUCT(uchar, uint, 8, 0, UCHAR_MAX)
NARROW_PRODUCT(short, int, 16, SHRT_MIN, SHRT_MAX)
NARROW_PRODUCT(ushort, uint, 16, 0, USHRT_MAX)
NARROW_PRODUCT(int, long, 32, INT_MIN, INT_MAX)
NARROW_PRODUCT(uint, ulong, 32, 0, UINT_MAX)

/* In four products of 32 bits, which vector units have. */
ulong PURE mul_hi(ulong x, ulong y) {
  ulong xl = (uint)x, xh = x >> 32, yl = (uint)y, yh = y >> 32;
  ulong middle = xh * yl + ((xl * yl) >> 32);
  ulong cross = xl * yh + (uint)middle;
  return xh * yh + (middle >> 32) + (cross >> 32);
}
long PURE mul_hi(long x, long y) {
  return (long)(mul_hi((ulong)x, (ulong)y) - ((ulong)(x >> 63) & (ulong)y) - ((ulong)(y >> 63) & (ulong)x));
}
ulong PURE mad_sat(ulong a, ulong b, ulong c) {
  ulong low = a * b, sum = low + c;
  return mul_hi(a, b) != 0 || sum < low ? ULONG_MAX : sum;
}
long PURE mad_sat(long a, long b, long c) {
  ulong low = (ulong)a * (ulong)b, sum = low + (ulong)c;
  long high = mul_hi(a, b) + (c >> 63) + (sum < low);
  return high != (long)sum >> 63 ? (high < 0 ? LONG_MIN : LONG_MAX) : (long)sum;
}

#define MAD_HI(T, U, S, BITS)                                                                                          \
  T PURE mad_hi(T a, T b, T c) { return (T)((U)mul_hi(a, b) + (U)c); }
FOR_INTEGERS(MAD_HI)

#define UPSAMPLE(T, HIGH, LOW, BITS)                                                                                   \
  T PURE upsample(HIGH high, LOW low) { return (T)(((T)high << BITS) | (T)low); }
UPSAMPLE(short, char, uchar, 8)
UPSAMPLE(ushort, uchar, uchar, 8)
UPSAMPLE(int, short, ushort, 16)
UPSAMPLE(uint, ushort, ushort, 16)
UPSAMPLE(long, int, uint, 32)
UPSAMPLE(ulong, uint, uint, 32)

/* Defined for 24 bits only, where the product of 32 bits is the same. */
#define PRODUCT_24(T)                                                                                                  \
  T PURE mul24(T x, T y) { return (T)((uint)x * (uint)y); }                                                            \
  T PURE mad24(T x, T y, T z) { return (T)((uint)x * (uint)y + (uint)z); }
PRODUCT_24(int)
PRODUCT_24(uint)

#define DOT(T, A, B)                                                                                                   \
  T PURE dot(A a, B b) {                                                                                               \
    return (T)a.x * (T)b.x + (T)a.y * (T)b.y + (T)a.z * (T)b.z + (T)a.w * (T)b.w;                                      \
  }                                                                                                                    \
  T PURE dot_acc_sat(A a, B b, T sum) { return add_sat(dot(a, b), sum); }
DOT(uint, uchar4, uchar4)
DOT(int, char4, char4)
DOT(int, uchar4, char4)
DOT(int, char4, uchar4)

#define PACKED_DOT(SUFFIX, T, A, B)                                                                                    \
  T PURE dot_4x8packed_##SUFFIX(uint a, uint b) { return dot(as_##A(a), as_##B(b)); }                                  \
  T PURE dot_acc_sat_4x8packed_##SUFFIX(uint a, uint b, T sum) { return dot_acc_sat(as_##A(a), as_##B(b), sum); }
PACKED_DOT(uu_uint, uint, uchar4, uchar4)
PACKED_DOT(ss_int, int, char4, char4)
PACKED_DOT(us_int, int, uchar4, char4)
PACKED_DOT(su_int, int, char4, uchar4)
