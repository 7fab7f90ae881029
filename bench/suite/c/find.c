#include <stdint.h>

void find(const REAL *restrict labels, int64_t size, const int32_t *restrict left, int64_t left_size,
          const int32_t *restrict right, int64_t right_size, const REAL *restrict queries, int64_t count,
          int32_t *restrict found, int64_t found_size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        REAL wanted = queries[i];
        int32_t node = 0;
        while (labels[node] != wanted) {
            node = wanted < labels[node] ? left[node] : right[node];
            if (node == 0) {
                node = -1;
                break;
            }
        }
        found[i] = node;
    }
}
