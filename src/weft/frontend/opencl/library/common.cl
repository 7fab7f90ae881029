/* Common functions (OpenCL C 1.2, 6.12.4; 3.0, 6.15.4). */

#define COMMON(T)                                                                                                      \
  T PURE max(T x, T y) { return x < y ? y : x; }                                                                       \
  T PURE min(T x, T y) { return y < x ? y : x; }                                                                       \
  T PURE clamp(T x, T low, T high) { return min(max(x, low), high); }                                                  \
  T PURE step(T edge, T x) { return x < edge ? (T)0 : (T)1; }                                                          \
  T PURE sign(T x) { return x != x ? (T)0 : (x == 0 ? x : __builtin_elementwise_copysign((T)1, x)); }
FOR_FLOATS(COMMON)

/* T computes in C: halves in float, rounded once. */
#define BLENDING(T, C)                                                                                                 \
  T PURE degrees(T x) { return (T)((C)x * (C)57.295779513082320876798154814105170); }                                  \
  T PURE radians(T x) { return (T)((C)x * (C)0.017453292519943295769236907684886127); }                                \
  T PURE mix(T x, T y, T a) { return (T)((C)x + ((C)y - (C)x) * (C)a); }                                               \
  T PURE smoothstep(T low, T high, T x) {                                                                              \
    C t = ((C)x - (C)low) / ((C)high - (C)low);                                                                        \
    t = t < 0 ? (C)0 : (t > 1 ? (C)1 : t);                                                                             \
    return (T)(t * t * ((C)3 - (C)2 * t));                                                                             \
  }
BLENDING(float, float)
BLENDING(double, double)
BLENDING(half, float)
