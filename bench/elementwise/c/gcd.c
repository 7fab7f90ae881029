#include <stdint.h>

void gcd(const int32_t *restrict first, int64_t count, const int32_t *restrict second, int64_t size,
         int32_t *restrict divisors, int64_t also_size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        int32_t a = first[i], b = second[i];
        while (b != 0) {
            int32_t rest = a % b;
            a = b;
            b = rest;
        }
        divisors[i] = a;
    }
}
