export void stencil5(uniform const float grid[], uniform int64 rows, uniform int64 columns, uniform float result[],
                     uniform int64 result_rows, uniform int64 result_columns)
{
    uniform int32 width = (uniform int32)columns;
    for (uniform int64 y = 1; y < rows - 1; y++) {
        uniform const float *uniform here = grid + y * columns;
        uniform const float *uniform above = here - columns, *uniform below = here + columns;
        uniform float *uniform line = result + y * columns;
        foreach (x = 1 ... width - 1)
            line[x] = 0.2f * (here[x] + here[x - 1] + here[x + 1] + above[x] + below[x]);
    }
}
