export void life(uniform const unsigned int8 cells[], uniform int64 rows, uniform int64 columns,
                 uniform unsigned int8 following[], uniform int64 following_rows, uniform int64 following_columns)
{
    // Plain numbers would have 32 bits.
    const uniform unsigned int8 none = 0, one = 1, two = 2, three = 3;
    uniform int32 width = (uniform int32)columns;
    for (uniform int64 y = 1; y < rows - 1; y++) {
        uniform const unsigned int8 *uniform here = cells + y * columns;
        uniform const unsigned int8 *uniform above = here - columns, *uniform below = here + columns;
        uniform unsigned int8 *uniform line = following + y * columns;
        foreach (x = 1 ... width - 1) {
            unsigned int8 around = above[x - 1] + above[x] + above[x + 1] + here[x - 1] + here[x + 1] + below[x - 1]
                                   + below[x] + below[x + 1];
            unsigned int8 own = here[x];
            bool lives = (around == three) | ((around == two) & (own == one));
            line[x] = lives ? one : none;
        }
    }
}
