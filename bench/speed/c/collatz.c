#include "collatz.h"

void collatz(int32_t *restrict steps, int64_t count)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        steps[i] = steps_to_one(i + 1);
}
