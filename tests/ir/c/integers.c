// Integer arithmetic of all widths and signs.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
typedef __int128 i128;
typedef _BitInt(37) odd;

int arith(int a, int b) { return a + b * 3 - (a - b) * b; }
int divide(int a, int b) { return a / b + a % b; }
u32 divide_u(u32 a, u32 b) { return a / b ^ a % b; }
int by_constants(int a) { return a / 7 + a % 8 + a / -16; }
u32 by_constants_u(u32 a) { return a / 10 + a % 10; }
u8 narrow(int a) { return (u8)a; }
int widen_signed(signed char c) { return c; }
u32 widen_unsigned(u8 c) { return c; }
short mixed_sign(u16 a, short b) { return (short)(a * b); }
int compare_mixed(int a, u32 b) { return a < b; }
u64 shifts(u64 x, int n) { return (x << n) | (x >> (64 - n)); }
long arith_shift(long x, int n) { return x >> n; }
int wrapping(u32 a) { return (int)(a * 2654435761u); }
i128 multiply_wide(long long a, long long b) { return (i128)a * b; }
u64 high_part(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
odd odd_width(odd a, odd b) { return a * b + 1; }
_Bool to_bool(int x) { return x; }
int from_bool(_Bool a, _Bool b) { return a + 2 * b; }
int logic(int a, int b) { return (a & ~b) | (~a & b) ^ 0x55; }
int is_power(u32 x) { return x && !(x & (x - 1)); }
int absolute(int x) { return x < 0 ? -x : x; }
int clamp(int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; }
u32 rotate(u32 x, u32 n) { return __builtin_rotateleft32(x, n); }
int leading(u32 x) { return x ? __builtin_clz(x) : 32; }
int trailing(u64 x) { return __builtin_ctzll(x); }
int population(u64 x) { return __builtin_popcountll(x); }
u32 swap_bytes(u32 x) { return __builtin_bswap32(x); }
u8 reverse_bits(u8 x) { return __builtin_bitreverse8(x); }
_Bool overflow_add(int a, int b, int *out) { return __builtin_add_overflow(a, b, out); }
_Bool overflow_mul(u64 a, u64 b, u64 *out) { return __builtin_mul_overflow(a, b, out); }
int saturate(int a, int b) { return __builtin_elementwise_add_sat(a, b); }
u16 checksum(const u8 *p, u32 n) {
  u32 s = 0;
  for (u32 i = 0; i < n; i++) s = (s >> 1) + ((s & 1) << 15) + p[i];
  return (u16)s;
}
u64 hash(const char *s) {
  u64 h = 14695981039346656037ull;
  while (*s) h = (h ^ (u8)*s++) * 1099511628211ull;
  return h;
}
u32 xorshift(u32 x) { x ^= x << 13; x ^= x >> 17; return x ^ x << 5; }
int sign(int x) { return (x > 0) - (x < 0); }
int increment_all(int *a, u8 *b, short *c) { return ++*a + (*b)++ + --*c; }
void compound(int *a, u32 b) { *a += b; *a <<= 2; *a ^= b; *a %= 17; *a |= 1; }
int assumed(int x) { __builtin_assume(x > 3 && x < 90); return x / 2; }
int expected(int x) { if (__builtin_expect(x == 0, 0)) return 1; return 2 * x; }
int bit_test(u64 set, int i) { return set >> i & 1; }
