/* What all sources of the builtin library share. A function is written for scalars; its forms for vectors are made
 * of the scalar one where they work by element (elementwise.py). */
#ifndef WEFT_OPENCL_INTERNAL_H
#define WEFT_OPENCL_INTERNAL_H

/* A builtin: its name is mangled, as the name is that clang calls. */
#define BUILTIN __attribute__((overloadable))
/* Its value follows from its arguments. */
#define PURE __attribute__((overloadable, const))
/* A function of the C library or of weft, by its plain name. */
#define EXTERN(name) __asm(name)

/* M(type, unsigned type, signed type, bits) for the integer types. */
#define FOR_SIGNED(M)                                                                                                  \
  M(char, uchar, char, 8) M(short, ushort, short, 16) M(int, uint, int, 32) M(long, ulong, long, 64)
#define FOR_UNSIGNED(M)                                                                                                \
  M(uchar, uchar, char, 8) M(ushort, ushort, short, 16) M(uint, uint, int, 32) M(ulong, ulong, long, 64)
#define FOR_INTEGERS(M) FOR_SIGNED(M) FOR_UNSIGNED(M)

#define FOR_FLOATS(M) M(float) M(double) M(half)

#endif
