/* Functions of work-groups (OpenCL C 3.0, 6.15.16) and sub-groups (6.15.19; cl_khr_subgroups), over what weft has. */

size_t __weft_local_id(uint dimension) EXTERN("__weft_get_local_id");
size_t __weft_local_size(uint dimension) EXTERN("__weft_get_local_size");
void __weft_barrier(uint flags, uint scope) __attribute__((convergent)) EXTERN("__weft_barrier");
int __weft_work_group_any(int) __attribute__((convergent)) EXTERN("__weft_work_group_any");
int __weft_work_group_all(int) __attribute__((convergent)) EXTERN("__weft_work_group_all");
local void *__weft_scratch(void) EXTERN("__weft_scratch");
uint __weft_sub_group_local_id(void) EXTERN("__weft_sub_group_local_id");
uint __weft_sub_group_max_size(void) EXTERN("__weft_sub_group_max_size");
int __weft_shuffle_int(int x, uint lane) __attribute__((convergent)) EXTERN("__weft_sub_group_shuffle_i32");
long __weft_shuffle_long(long x, uint lane) __attribute__((convergent)) EXTERN("__weft_sub_group_shuffle_i64");
ulong __weft_ballot(int x) __attribute__((convergent)) EXTERN("__weft_sub_group_ballot");
ulong __weft_active(void) __attribute__((convergent)) EXTERN("__weft_sub_group_active");

#define MEETING BUILTIN __attribute__((convergent))
#define HELPER static __attribute__((always_inline, convergent))

HELPER uint item(void) {
  return (uint)((__weft_local_id(2) * __weft_local_size(1) + __weft_local_id(1)) * __weft_local_size(0) +
                __weft_local_id(0));
}
HELPER uint items(void) { return (uint)(__weft_local_size(0) * __weft_local_size(1) * __weft_local_size(2)); }
HELPER void meet(void) { __weft_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group); }

int MEETING work_group_all(int predicate) { return __weft_work_group_all(predicate); }
int MEETING work_group_any(int predicate) { return __weft_work_group_any(predicate); }

#define BROADCAST(T)                                                                                                   \
  T MEETING work_group_broadcast(T x, size_t i, size_t j, size_t k) {                                                  \
    local T *place = (local T *)__weft_scratch();                                                                      \
    meet();                                                                                                            \
    if (__weft_local_id(0) == i && __weft_local_id(1) == j && __weft_local_id(2) == k)                                 \
      *place = x;                                                                                                      \
    meet();                                                                                                            \
    return *place;                                                                                                     \
  }                                                                                                                    \
  T MEETING work_group_broadcast(T x, size_t i, size_t j) { return work_group_broadcast(x, i, j, (size_t)0); }         \
  T MEETING work_group_broadcast(T x, size_t i) { return work_group_broadcast(x, i, (size_t)0, (size_t)0); }

/* One work-item goes over the values of all, in their order; the first meeting lets the last use of the memory end. */
#define SCRATCH_ITEMS(T) (16384 / (uint)sizeof(T) - 1)
#define FOLD(T, NAME, OP, NEUTRAL)                                                                                     \
  HELPER T work_group_##NAME##_of_##T(T x, bool exclusive, bool last) {                                                \
    local T *values = (local T *)__weft_scratch();                                                                     \
    local T *carry = values + SCRATCH_ITEMS(T);                                                                        \
    const uint me = item(), count = items();                                                                           \
    T result = x;                                                                                                      \
    for (uint first = 0; first < count; first += SCRATCH_ITEMS(T)) {                                                   \
      const bool mine = me - first < SCRATCH_ITEMS(T);                                                                 \
      meet();                                                                                                          \
      if (mine)                                                                                                        \
        values[me - first] = x;                                                                                        \
      meet();                                                                                                          \
      if (me == 0) {                                                                                                   \
        T sum = first == 0 ? (T)(NEUTRAL) : *carry;                                                                    \
        const uint rest = count - first, here = rest < SCRATCH_ITEMS(T) ? rest : SCRATCH_ITEMS(T);                     \
        for (uint i = 0; i < here; i++) {                                                                              \
          const T before = sum, y = values[i];                                                                         \
          sum = OP;                                                                                                    \
          values[i] = exclusive ? before : sum;                                                                        \
        }                                                                                                              \
        *carry = sum;                                                                                                  \
      }                                                                                                                \
      meet();                                                                                                          \
      result = mine ? values[me - first] : result;                                                                     \
    }                                                                                                                  \
    return last ? *carry : result;                                                                                     \
  }                                                                                                                    \
  T MEETING work_group_reduce_##NAME(T x) { return work_group_##NAME##_of_##T(x, false, true); }                       \
  T MEETING work_group_scan_inclusive_##NAME(T x) { return work_group_##NAME##_of_##T(x, false, false); }              \
  T MEETING work_group_scan_exclusive_##NAME(T x) { return work_group_##NAME##_of_##T(x, true, false); }

/* Sub-groups: the values of lanes below, doubling the distance. */
HELPER uint lanes(void) { return 64 - (uint)__builtin_clzl(__weft_active()); }
#define STEP(T, OP, DISTANCE)                                                                                          \
  {                                                                                                                    \
    const T y = shuffled(sum, lane - DISTANCE), together = OP;                                                         \
    sum = lane >= DISTANCE ? together : sum;                                                                           \
  }
#define SUB_FOLD(T, NAME, OP, NEUTRAL)                                                                                 \
  T MEETING sub_group_scan_inclusive_##NAME(T x) {                                                                     \
    const uint lane = __weft_sub_group_local_id();                                                                     \
    T sum = x;                                                                                                         \
    STEP(T, OP, 1) STEP(T, OP, 2) STEP(T, OP, 4) STEP(T, OP, 8) STEP(T, OP, 16)                                        \
    if (__weft_sub_group_max_size() > 32)                                                                              \
      STEP(T, OP, 32)                                                                                                  \
    return sum;                                                                                                        \
  }                                                                                                                    \
  T MEETING sub_group_scan_exclusive_##NAME(T x) {                                                                     \
    const uint lane = __weft_sub_group_local_id();                                                                     \
    const T before = shuffled(sub_group_scan_inclusive_##NAME(x), lane - 1);                                           \
    return lane == 0 ? (T)(NEUTRAL) : before;                                                                          \
  }                                                                                                                    \
  T MEETING sub_group_reduce_##NAME(T x) { return shuffled(sub_group_scan_inclusive_##NAME(x), lanes() - 1); }

#define SHUFFLED(T, WIDE, TO, BACK)                                                                                    \
  static __attribute__((always_inline, overloadable, convergent)) T shuffled(T x, uint lane) {                         \
    return BACK(__weft_shuffle_##WIDE(TO(x), lane));                                                                   \
  }                                                                                                                    \
  T MEETING sub_group_broadcast(T x, uint lane) { return shuffled(x, lane); }                                          \
  T MEETING sub_group_shuffle(T x, uint lane) { return shuffled(x, lane); }                                            \
  T MEETING sub_group_shuffle_xor(T x, uint mask) { return shuffled(x, __weft_sub_group_local_id() ^ mask); }          \
  T MEETING sub_group_shuffle_up(T x, uint n) { return shuffled(x, __weft_sub_group_local_id() - n); }                 \
  T MEETING sub_group_shuffle_down(T x, uint n) { return shuffled(x, __weft_sub_group_local_id() + n); }
#define FROM_HALF(x) as_short(x)
#define TO_HALF(x) as_half((short)(x))
SHUFFLED(char, int, (int), (char))
SHUFFLED(uchar, int, (int), (uchar))
SHUFFLED(short, int, (int), (short))
SHUFFLED(ushort, int, (int), (ushort))
SHUFFLED(int, int, (int), (int))
SHUFFLED(uint, int, (int), (uint))
SHUFFLED(long, long, (long), (long))
SHUFFLED(ulong, long, (long), (ulong))
SHUFFLED(float, int, as_int, as_float)
SHUFFLED(double, long, as_long, as_double)
SHUFFLED(half, int, FROM_HALF, TO_HALF)

#define FOLDS(T, LOWEST, HIGHEST, KIND)                                                                                \
  KIND(T, add, sum + y, 0)                                                                                             \
  KIND(T, min, (y < sum ? y : sum), HIGHEST)                                                                           \
  KIND(T, max, (sum < y ? y : sum), LOWEST)
#define OF_WORK_GROUP(T, LOWEST, HIGHEST) BROADCAST(T) FOLDS(T, LOWEST, HIGHEST, FOLD)
OF_WORK_GROUP(int, INT_MIN, INT_MAX)
OF_WORK_GROUP(uint, 0, UINT_MAX)
OF_WORK_GROUP(long, LONG_MIN, LONG_MAX)
OF_WORK_GROUP(ulong, 0, ULONG_MAX)
OF_WORK_GROUP(half, -INFINITY, INFINITY)
OF_WORK_GROUP(float, -INFINITY, INFINITY)
OF_WORK_GROUP(double, -INFINITY, INFINITY)
FOLDS(char, SCHAR_MIN, SCHAR_MAX, SUB_FOLD)
FOLDS(uchar, 0, UCHAR_MAX, SUB_FOLD)
FOLDS(short, SHRT_MIN, SHRT_MAX, SUB_FOLD)
FOLDS(ushort, 0, USHRT_MAX, SUB_FOLD)
FOLDS(int, INT_MIN, INT_MAX, SUB_FOLD)
FOLDS(uint, 0, UINT_MAX, SUB_FOLD)
FOLDS(long, LONG_MIN, LONG_MAX, SUB_FOLD)
FOLDS(ulong, 0, ULONG_MAX, SUB_FOLD)
FOLDS(half, -INFINITY, INFINITY, SUB_FOLD)
FOLDS(float, -INFINITY, INFINITY, SUB_FOLD)
FOLDS(double, -INFINITY, INFINITY, SUB_FOLD)

int MEETING sub_group_all(int predicate) { return __weft_ballot(predicate == 0) == 0; }
int MEETING sub_group_any(int predicate) { return __weft_ballot(predicate) != 0; }
