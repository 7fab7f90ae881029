#include <stdint.h>

static inline int32_t steps_to_one(uint32_t n)
{
    int32_t taken = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        taken++;
    }
    return taken;
}
