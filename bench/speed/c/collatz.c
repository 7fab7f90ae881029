#include <stdint.h>

void collatz(int32_t *restrict steps, int64_t count)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        uint32_t n = i + 1;
        int32_t taken = 0;
        while (n != 1) {
            n = n & 1 ? 3 * n + 1 : n >> 1;
            taken++;
        }
        steps[i] = taken;
    }
}
