/* Shuffles (OpenCL C 1.2, 6.12.12; 3.0, 6.15.13): an index counts modulo the number of elements there are. */

#define AT_1(M, K) x[m.s##K & (M - 1)]
#define AT_2(M, K) ((m.s##K & M) ? y[m.s##K & (M - 1)] : x[m.s##K & (M - 1)])
#define ELEMENTS_2(AT, M) AT(M, 0), AT(M, 1)
#define ELEMENTS_4(AT, M) ELEMENTS_2(AT, M), AT(M, 2), AT(M, 3)
#define ELEMENTS_8(AT, M) ELEMENTS_4(AT, M), AT(M, 4), AT(M, 5), AT(M, 6), AT(M, 7)
#define ELEMENTS_16(AT, M)                                                                                             \
  ELEMENTS_8(AT, M), AT(M, 8), AT(M, 9), AT(M, a), AT(M, b), AT(M, c), AT(M, d), AT(M, e), AT(M, f)

#define SHUFFLE(T, U, N, M)                                                                                            \
  T##N PURE shuffle(T##M x, U##N m) { return (T##N)(ELEMENTS_##N(AT_1, M)); }                                          \
  T##N PURE shuffle2(T##M x, T##M y, U##N m) { return (T##N)(ELEMENTS_##N(AT_2, M)); }
#define FROM(T, U, M) SHUFFLE(T, U, 2, M) SHUFFLE(T, U, 4, M) SHUFFLE(T, U, 8, M) SHUFFLE(T, U, 16, M)
#define SHUFFLES(T, U) FROM(T, U, 2) FROM(T, U, 4) FROM(T, U, 8) FROM(T, U, 16)
SHUFFLES(char, uchar)
SHUFFLES(uchar, uchar)
SHUFFLES(short, ushort)
SHUFFLES(ushort, ushort)
SHUFFLES(int, uint)
SHUFFLES(uint, uint)
SHUFFLES(long, ulong)
SHUFFLES(ulong, ulong)
SHUFFLES(float, uint)
SHUFFLES(double, ulong)
SHUFFLES(half, ushort)
