#include <stdint.h>

void search_levels(const int32_t *restrict starts, int64_t starts_size, const int32_t *restrict neighbours,
                   int64_t neighbours_size, int32_t *restrict depths, int64_t vertices, int32_t *restrict changed,
                   int64_t one)
{
    int32_t depth = 0;
    changed[0] = 1;
    for (; changed[0]; depth++) {
        changed[0] = 0;
        PARALLEL_FOR
        for (int64_t vertex = 0; vertex < vertices; vertex++)
            if (depths[vertex] == depth)
                for (int32_t k = starts[vertex]; k < starts[vertex + 1]; k++) {
                    int32_t other = neighbours[k];
                    if (depths[other] < 0) {
                        depths[other] = depth + 1;
                        changed[0] = 1;
                    }
                }
    }
}
