/* Relational functions (OpenCL C 1.2, 6.12.6; 3.0, 6.15.6). True is 1 for scalars and -1 in an element of a vector. */

/* T compares, and S is the signed integer of its size. */
#define COMPARISON(NAME, T, S, CONDITION)                                                                              \
  int PURE NAME(T x, T y) { return CONDITION; }                                                                        \
  S PURE __vector_##NAME(T x, T y) { return (CONDITION) ? (S)-1 : (S)0; }
#define CLASS(NAME, T, S, CONDITION)                                                                                   \
  int PURE NAME(T x) { return (CONDITION) != 0; }                                                                      \
  S PURE __vector_##NAME(T x) { return (CONDITION) != 0 ? (S)-1 : (S)0; }

#define RELATIONS(T, S)                                                                                             \
  COMPARISON(isequal, T, S, x == y)                                                                                    \
  COMPARISON(isnotequal, T, S, x != y)                                                                                 \
  COMPARISON(isgreater, T, S, x > y)                                                                                   \
  COMPARISON(isgreaterequal, T, S, x >= y)                                                                             \
  COMPARISON(isless, T, S, x < y)                                                                                      \
  COMPARISON(islessequal, T, S, x <= y)                                                                                \
  COMPARISON(islessgreater, T, S, x < y || x > y)                                                                      \
  COMPARISON(isordered, T, S, x == x && y == y)                                                                        \
  COMPARISON(isunordered, T, S, x != x || y != y)                                                                      \
  CLASS(isnan, T, S, x != x)                                                                                           \
  CLASS(isinf, T, S, __builtin_elementwise_abs(x) == (T)__builtin_inff())                                                         \
  CLASS(isfinite, T, S, __builtin_elementwise_abs(x) < (T)__builtin_inff())                                                       \
  CLASS(isnormal, T, S, __builtin_elementwise_abs(x) < (T)__builtin_inff() && __builtin_elementwise_abs(x) >= LEAST_NORMAL_##T)              \
  CLASS(signbit, T, S, as_##S(x) < 0)

#define LEAST_NORMAL_float FLT_MIN
#define LEAST_NORMAL_double DBL_MIN
#define LEAST_NORMAL_half HALF_MIN
RELATIONS(float, int)
RELATIONS(double, long)
RELATIONS(half, short)

/* The highest bit decides. */
#define ANY_ALL(T)                                                                                                     \
  int PURE any(T x) { return x < 0; }                                                                                  \
  int PURE all(T x) { return x < 0; }                                                                                  \
  int PURE any(T##2 x) { return (T)(x.x | x.y) < 0; }                                                                  \
  int PURE all(T##2 x) { return (T)(x.x & x.y) < 0; }                                                                  \
  int PURE any(T##3 x) { return (T)(x.x | x.y | x.z) < 0; }                                                            \
  int PURE all(T##3 x) { return (T)(x.x & x.y & x.z) < 0; }                                                            \
  int PURE any(T##4 x) { return any(x.lo | x.hi); }                                                                    \
  int PURE all(T##4 x) { return all(x.lo & x.hi); }                                                                    \
  int PURE any(T##8 x) { return any(x.lo | x.hi); }                                                                    \
  int PURE all(T##8 x) { return all(x.lo & x.hi); }                                                                    \
  int PURE any(T##16 x) { return any(x.lo | x.hi); }                                                                   \
  int PURE all(T##16 x) { return all(x.lo & x.hi); }
ANY_ALL(char)
ANY_ALL(short)
ANY_ALL(int)
ANY_ALL(long)

#define BITSELECT(T, U)                                                                                                \
  T PURE bitselect(T a, T b, T c) { return as_##T((U)((as_##U(a) & (U)~as_##U(c)) | (as_##U(b) & as_##U(c)))); }
/* A scalar chooses by being 0, an element by its highest bit. */
#define SELECT(T, C, S)                                                                                                \
  T PURE select(T a, T b, C c) { return c ? b : a; }                                                                   \
  T PURE __vector_select(T a, T b, C c) { return (S)c < 0 ? b : a; }
#define CHOICES(T, U, S) BITSELECT(T, U) SELECT(T, U, S) SELECT(T, S, S)
CHOICES(char, uchar, char)
CHOICES(uchar, uchar, char)
CHOICES(short, ushort, short)
CHOICES(ushort, ushort, short)
CHOICES(int, uint, int)
CHOICES(uint, uint, int)
CHOICES(long, ulong, long)
CHOICES(ulong, ulong, long)
CHOICES(float, uint, int)
CHOICES(double, ulong, long)
CHOICES(half, ushort, short)
