/* Geometric functions (OpenCL C 1.2, 6.12.5; 3.0, 6.15.5). Squares neither overflow nor vanish: what is large or small
 * is scaled by a power of two before. */
#pragma clang fp contract(on)

#define DOTS(T)                                                                                                        \
  T PURE dot(T a, T b) { return a * b; }                                                                               \
  T PURE dot(T##2 a, T##2 b) { return a.x * b.x + a.y * b.y; }                                                         \
  T PURE dot(T##3 a, T##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }                                             \
  T PURE dot(T##4 a, T##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }                                 \
  T##3 PURE cross(T##3 a, T##3 b) {                                                                                    \
    return (T##3)(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);                                \
  }                                                                                                                    \
  T##4 PURE cross(T##4 a, T##4 b) { return (T##4)(cross(a.xyz, b.xyz), (T)0); }
DOTS(float)
DOTS(double)

#define LARGEST_2(T) __builtin_elementwise_max(__builtin_elementwise_abs(v.x), __builtin_elementwise_abs(v.y))
#define LARGEST_3(T) __builtin_elementwise_max(LARGEST_2(T), __builtin_elementwise_abs(v.z))
#define LARGEST_4(T) __builtin_elementwise_max(LARGEST_3(T), __builtin_elementwise_abs(v.w))
/* The direction of a vector with infinite elements is theirs alone. */
#define UNIT(C) (infinite ? __builtin_elementwise_copysign(v.C - v.C == 0 ? ONE - ONE : ONE, v.C) : v.C)
#define UNITS_2(T) (T##2)(UNIT(x), UNIT(y))
#define UNITS_3(T) (T##3)(UNIT(x), UNIT(y), UNIT(z))
#define UNITS_4(T) (T##4)(UNIT(x), UNIT(y), UNIT(z), UNIT(w))
#define HAS_NAN_2 ((v.x != v.x) | (v.y != v.y))
#define HAS_NAN_3 (HAS_NAN_2 | (v.z != v.z))
#define HAS_NAN_4 (HAS_NAN_3 | (v.w != v.w))

/* LARGE and SMALL bound the numbers whose squares are as exact as others'. */
#define LENGTHS(T, WIDTH, LARGE, SMALL, UP, DOWN, INF, ROOT)                                                           \
  T PURE length(T##WIDTH v) {                                                                                          \
    const T most = LARGEST_##WIDTH(T);                                                                                 \
    const T scale = most > LARGE ? DOWN : (most < SMALL ? UP : (T)1);                                                  \
    const T back = most > LARGE ? UP : (most < SMALL ? DOWN : (T)1);                                                   \
    const T##WIDTH s = v * scale;                                                                                      \
    return most == INF ? most : ROOT(dot(s, s)) * back;                                                                \
  }                                                                                                                    \
  T##WIDTH PURE normalize(T##WIDTH v) {                                                                                \
    const T ONE = 1, most = LARGEST_##WIDTH(T);                                                                        \
    const bool infinite = (most == INF) & !HAS_NAN_##WIDTH;                                                             \
    const bool large = !infinite & (most > LARGE);                                                                     \
    const T scale = large ? DOWN : (!infinite & (most < SMALL) ? UP : (T)1);                                           \
    const T##WIDTH units = UNITS_##WIDTH(T), s = units * scale;                                                        \
    const T square = dot(s, s), inverse = (T)1 / ROOT(square);                                                         \
    /* Scaled down first, small elements beside large ones would lose bits. */                                         \
    return square == 0 ? v : (large ? units * inverse * scale : s * inverse);                                          \
  }                                                                                                                    \
  T PURE distance(T##WIDTH a, T##WIDTH b) { return length(a - b); }

#define FLOAT_LENGTHS(WIDTH)                                                                                           \
  LENGTHS(float, WIDTH, 0x1p+60f, 0x1p-50f, 0x1p+100f, 0x1p-100f, INFINITY, __builtin_sqrtf)
#define DOUBLE_LENGTHS(WIDTH)                                                                                          \
  LENGTHS(double, WIDTH, 0x1p+500, 0x1p-450, 0x1p+700, 0x1p-700, HUGE_VAL, __builtin_sqrt)
FLOAT_LENGTHS(2)
FLOAT_LENGTHS(3)
FLOAT_LENGTHS(4)
DOUBLE_LENGTHS(2)
DOUBLE_LENGTHS(3)
DOUBLE_LENGTHS(4)

#define OF_ONE(T)                                                                                                      \
  T PURE length(T v) { return __builtin_elementwise_abs(v); }                                                          \
  T PURE distance(T a, T b) { return __builtin_elementwise_abs(a - b); }                                               \
  T PURE normalize(T v) { return v == 0 || v != v ? v : __builtin_elementwise_copysign((T)1, v); }
OF_ONE(float)
OF_ONE(double)

#define FAST(T)                                                                                                        \
  float PURE fast_length(T v) { return __builtin_sqrtf(dot(v, v)); }                                                   \
  float PURE fast_distance(T a, T b) { return fast_length(a - b); }                                                    \
  T PURE fast_normalize(T v) {                                                                                         \
    const float square = dot(v, v);                                                                                    \
    return square == 0 ? v : v * (1.0f / __builtin_sqrtf(square));                                                     \
  }
FAST(float)
FAST(float2)
FAST(float3)
FAST(float4)

/* Squares of halves are exact in float. */
#define HALVES(WIDTH)                                                                                                  \
  half PURE dot(half##WIDTH a, half##WIDTH b) { return (half)dot(WIDE(a, WIDTH), WIDE(b, WIDTH)); }                    \
  half PURE length(half##WIDTH v) { return (half)length(WIDE(v, WIDTH)); }                                             \
  half PURE distance(half##WIDTH a, half##WIDTH b) { return (half)length(WIDE(a, WIDTH) - WIDE(b, WIDTH)); }           \
  half##WIDTH PURE normalize(half##WIDTH v) { return NARROW(normalize(WIDE(v, WIDTH)), WIDTH); }
#define WIDE(v, WIDTH) __builtin_convertvector(v, float##WIDTH)
#define NARROW(v, WIDTH) __builtin_convertvector(v, half##WIDTH)
HALVES(2)
HALVES(3)
HALVES(4)
half3 PURE cross(half3 a, half3 b) { return NARROW(cross(WIDE(a, 3), WIDE(b, 3)), 3); }
half4 PURE cross(half4 a, half4 b) { return NARROW(cross(WIDE(a, 4), WIDE(b, 4)), 4); }
half PURE dot(half a, half b) { return (half)((float)a * (float)b); }
half PURE length(half v) { return __builtin_elementwise_abs(v); }
half PURE distance(half a, half b) { return (half)__builtin_fabsf((float)a - (float)b); }
half PURE normalize(half v) { return (half)normalize((float)v); }
