#include <stdint.h>

void life(const uint8_t *restrict cells, int64_t rows, int64_t columns, uint8_t *restrict following,
          int64_t following_rows, int64_t following_columns)
{
    PARALLEL_FOR
    for (int64_t y = 1; y < rows - 1; y++)
        for (int64_t x = 1; x < columns - 1; x++) {
            const uint8_t *here = cells + y * columns + x;
            int around = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    around += here[dy * columns + dx];
            around -= here[0];
            following[y * columns + x] = around == 3 || (around == 2 && here[0] == 1);
        }
}
