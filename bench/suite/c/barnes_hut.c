#include <stdint.h>
#include <tgmath.h>

#define STACK 256

void barnes_hut(const REAL *restrict centres, int64_t cells, int64_t three, const REAL *restrict masses,
                int64_t masses_size, const REAL *restrict sizes, int64_t sizes_size,
                const int32_t *restrict children, int64_t children_cells, int64_t eight,
                const REAL *restrict positions, int64_t count, int64_t also_three, REAL opening, REAL softening,
                REAL *restrict result, int64_t result_count, int64_t result_three)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        int32_t stack[STACK];
        int top = 1;
        REAL x = positions[3 * i], y = positions[3 * i + 1], z = positions[3 * i + 2], ax = 0, ay = 0, az = 0;
        stack[0] = 0;
        while (top > 0) {
            int64_t cell = stack[--top];
            REAL dx = centres[3 * cell] - x, dy = centres[3 * cell + 1] - y, dz = centres[3 * cell + 2] - z;
            REAL squared = dx * dx + dy * dy + dz * dz + softening;
            if (sizes[cell] * sizes[cell] > opening * opening * squared) {
                for (int child = 0; child < 8; child++) {
                    int32_t below = children[8 * cell + child];
                    if (below > 0)
                        stack[top++] = below;
                }
            } else {
                REAL pull = masses[cell] / (squared * sqrt(squared));
                ax += pull * dx;
                ay += pull * dy;
                az += pull * dz;
            }
        }
        result[3 * i] = ax;
        result[3 * i + 1] = ay;
        result[3 * i + 2] = az;
    }
}
