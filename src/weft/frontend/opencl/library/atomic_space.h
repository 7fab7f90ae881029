/* The functions of atomic objects in one address space, SPACED. Included by atomic_objects.cl once for each. */

#define type int
#define object atomic_int
#define word int
#define as_type as_int
#define as_word as_int
#define INTEGER
#include "atomic_type.h"
#define type uint
#define object atomic_uint
#define word uint
#define as_type as_uint
#define as_word as_uint
#define INTEGER
#include "atomic_type.h"
#define type long
#define object atomic_long
#define word long
#define as_type as_long
#define as_word as_long
#define INTEGER
#include "atomic_type.h"
#define type ulong
#define object atomic_ulong
#define word ulong
#define as_type as_ulong
#define as_word as_ulong
#define INTEGER
#include "atomic_type.h"
#define type float
#define object atomic_float
#define word int
#define as_type as_float
#define as_word as_int
#include "atomic_type.h"
#define type double
#define object atomic_double
#define word long
#define as_type as_double
#define as_word as_long
#include "atomic_type.h"

/* Addresses as numbers move by signed differences. */
#define type ulong
FORMS(ulong, atomic_fetch_add, ADDED, SPACED(volatile atomic_ulong) *p, long x)
FORMS(ulong, atomic_fetch_sub, SUBTRACTED, SPACED(volatile atomic_ulong) *p, long x)
#undef type

FORMS(bool, atomic_flag_test_and_set, SET, SPACED(volatile atomic_flag) *p)
FORMS(void, atomic_flag_clear, CLEARED, SPACED(volatile atomic_flag) *p)
