#include "../../speed/c/collatz.h"

void collatz(const int64_t *restrict numbers, int64_t count, int64_t *restrict steps, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        steps[i] = steps_to_one(numbers[i]);
}
