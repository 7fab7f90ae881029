#define MOST 16

export void nearest_centre(uniform const REAL points[], uniform int64 count, uniform int64 dimensions,
                           uniform const REAL centres[], uniform int64 centres_count, uniform int64 centres_dimensions,
                           uniform int32 nearest[], uniform int64 size)
{
    uniform int32 given = (uniform int32)count, axes = (uniform int32)dimensions, there = (uniform int32)centres_count;
    foreach (i = 0 ... given) {
        REAL own[MOST], least = 3e38;
        int32 best = 0;
        for (uniform int32 d = 0; d < axes; d++)
            own[d] = points[i * axes + d];
        for (uniform int32 c = 0; c < there; c++) {
            REAL squared = 0;
            for (uniform int32 d = 0; d < axes; d++) {
                REAL step = own[d] - centres[c * axes + d];
                squared += step * step;
            }
            if (squared < least) {
                least = squared;
                best = c;
            }
        }
        nearest[i] = best;
    }
}
