export void sobel(uniform const float image[], uniform int64 rows, uniform int64 columns, uniform float edges[],
                  uniform int64 edges_rows, uniform int64 edges_columns)
{
    uniform int32 width = (uniform int32)columns;
    for (uniform int64 y = 1; y < rows - 1; y++) {
        uniform const float *uniform here = image + y * columns;
        uniform const float *uniform above = here - columns, *uniform below = here + columns;
        uniform float *uniform line = edges + y * columns;
        foreach (x = 1 ... width - 1) {
            float across = above[x + 1] + 2 * here[x + 1] + below[x + 1] - (above[x - 1] + 2 * here[x - 1] + below[x - 1]);
            float down = below[x - 1] + 2 * below[x] + below[x + 1] - (above[x - 1] + 2 * above[x] + above[x + 1]);
            line[x] = sqrt(across * across + down * down);
        }
    }
}
