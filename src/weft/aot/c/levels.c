/* Which level of instructions this processor has, asked once when the library is loaded. */

#include "aot.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t extended_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* 1 to 4, as in x86-64-v1 to x86-64-v4. */
static int level_of_processor(void) {
    uint32_t a, b, c, d, wide;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
    const uint32_t v2 = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;
    const uint32_t v3 = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;
    uint32_t features = c;
    if ((features & v2) != v2) return 1;
    if ((features & v3) != v3) return 2;
    uint64_t state = extended_state();
    if ((state & 6) != 6 || !__get_cpuid_count(7, 0, &a, &wide, &c, &d)) return 2;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & 1u << 5)) return 2;
    const uint32_t avx2 = 1u << 3 | 1u << 5 | 1u << 8;
    if ((wide & avx2) != avx2) return 2;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    return (wide & avx512) == avx512 && (state & 0xe6) == 0xe6 ? 4 : 3;
}

static int level_of_name(const char *name) {
    if (!strcmp(name, "x86-64")) return 1;
    return !strncmp(name, "x86-64-v", 8) ? atoi(name + 8) : 4;
}

int weft_aot_choose(const int *levels, int count) {
    int most = level_of_processor();
    const char *wish = getenv("WEFT_CPU");
    if (wish && level_of_name(wish) < most) most = level_of_name(wish);
    int best = -1;
    for (int i = 0; i < count; i++)
        if (levels[i] <= most && (best < 0 || levels[i] > levels[best])) best = i;
    if (best < 0) {
        fprintf(stderr, "this library is for processors of x86-64-v%d at least\n", levels[0]);
        abort();
    }
    return best;
}
