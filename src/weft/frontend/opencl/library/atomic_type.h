/* The functions of atomic objects of one type. Included by atomic_space.h. */

void BUILTIN atomic_init(SPACED(volatile object) *p, type x) { *(SPACED(type) *)p = x; }
FORMS(void, atomic_store, STORED, SPACED(volatile object) *p, type x)
FORMS(type, atomic_load, LOADED, SPACED(volatile object) *p)
FORMS(type, atomic_exchange, EXCHANGED, SPACED(volatile object) *p, type x)
COMPARE(strong, __global)
COMPARE(strong, __local)
COMPARE(strong, __private)
COMPARE(strong, __generic)
COMPARE(weak, __global)
COMPARE(weak, __local)
COMPARE(weak, __private)
COMPARE(weak, __generic)
FORMS(type, atomic_fetch_add, ADDED, SPACED(volatile object) *p, type x)
FORMS(type, atomic_fetch_sub, SUBTRACTED, SPACED(volatile object) *p, type x)
FORMS(type, atomic_fetch_min, LEAST, SPACED(volatile object) *p, type x)
FORMS(type, atomic_fetch_max, MOST, SPACED(volatile object) *p, type x)
#ifdef INTEGER
FORMS(type, atomic_fetch_or, ORED, SPACED(volatile object) *p, type x)
FORMS(type, atomic_fetch_xor, XORED, SPACED(volatile object) *p, type x)
FORMS(type, atomic_fetch_and, ANDED, SPACED(volatile object) *p, type x)
#undef INTEGER
#endif

#undef type
#undef object
#undef word
#undef as_type
#undef as_word
