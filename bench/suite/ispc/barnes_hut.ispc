#define STACK 256

// The lanes walk the tree together, as neighbouring bodies want the same cells.
export void barnes_hut(uniform const REAL centres[], uniform int64 cells, uniform int64 three,
                       uniform const REAL masses[], uniform int64 masses_size, uniform const REAL sizes[],
                       uniform int64 sizes_size, uniform const int32 children[], uniform int64 children_cells,
                       uniform int64 eight, uniform const REAL positions[], uniform int64 count,
                       uniform int64 also_three, uniform REAL opening, uniform REAL softening, uniform REAL result[],
                       uniform int64 result_count, uniform int64 result_three)
{
    uniform int32 bodies = (uniform int32)count;
    foreach (i = 0 ... bodies) {
        uniform int32 stack[STACK], top = 1;
        REAL x = positions[3 * i], y = positions[3 * i + 1], z = positions[3 * i + 2], ax = 0, ay = 0, az = 0;
        stack[0] = 0;
        while (top > 0) {
            uniform int32 cell = stack[--top];
            REAL dx = centres[3 * cell] - x, dy = centres[3 * cell + 1] - y, dz = centres[3 * cell + 2] - z;
            REAL squared = dx * dx + dy * dy + dz * dz + softening;
            uniform REAL cell_size = sizes[cell];
            if (any(cell_size * cell_size > opening * opening * squared)) {
                for (uniform int32 child = 0; child < 8; child++) {
                    uniform int32 below = children[8 * cell + child];
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
