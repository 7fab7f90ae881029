#include <math.h>
#include <stdint.h>

void sobel(const float *restrict image, int64_t rows, int64_t columns, float *restrict edges, int64_t edges_rows,
           int64_t edges_columns)
{
    PARALLEL_FOR
    for (int64_t y = 1; y < rows - 1; y++)
        for (int64_t x = 1; x < columns - 1; x++) {
            const float *here = image + y * columns + x, *above = here - columns, *below = here + columns;
            float across = above[1] + 2 * here[1] + below[1] - (above[-1] + 2 * here[-1] + below[-1]);
            float down = below[-1] + 2 * below[0] + below[1] - (above[-1] + 2 * above[0] + above[1]);
            edges[y * columns + x] = sqrtf(across * across + down * down);
        }
}
