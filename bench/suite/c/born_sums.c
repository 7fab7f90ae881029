#include <math.h>
#include <stdint.h>

#define RADIUS_OFFSET 0.09
#define LARGEST 20.0

void born_sums(const double *restrict positions, int64_t count, int64_t three, const double *restrict radii,
               int64_t radii_size, const double *restrict scales, int64_t scales_size, double *restrict sums,
               int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++) {
        double x = positions[3 * i], y = positions[3 * i + 1], z = positions[3 * i + 2];
        double ri = radii[i] - RADIUS_OFFSET, inverse = 1 / ri, total = 0;
        for (int64_t j = 0; j < size; j++) {
            if (j == i)
                continue;
            double dx = x - positions[3 * j], dy = y - positions[3 * j + 1], dz = z - positions[3 * j + 2];
            double squared = dx * dx + dy * dy + dz * dz;
            if (squared > (LARGEST + 4) * (LARGEST + 4))
                continue;
            double d = sqrt(squared), sj = scales[j] * (radii[j] - RADIUS_OFFSET);
            if (d > LARGEST + sj)
                continue;
            if (d > LARGEST - sj) {
                double upper = 1 / (d - sj);
                total -= 0.125 / d
                         * (1 + 2 * d * upper + (squared - 4 * LARGEST * d - sj * sj) / (LARGEST * LARGEST)
                            + 2 * log((d - sj) / LARGEST));
            } else if (d > 4 * sj) {
                double ratio = sj * sj / squared;
                double series
                    = 1 / 3. + ratio * (2 / 5. + ratio * (3 / 7. + ratio * (4 / 9. + ratio * 5 / 11.)));
                total -= sj * ratio / squared * series;
            } else if (d > ri + sj) {
                total -= 0.5 * (sj / (squared - sj * sj) + 0.5 / d * log((d - sj) / (d + sj)));
            } else if (d > fabs(ri - sj)) {
                double theta = 0.5 * inverse / d * (squared + ri * ri - sj * sj), upper = 1 / (d + sj);
                total -= 0.25 * (inverse * (2 - theta) - upper + 1 / d * log(ri * upper));
            } else if (ri < sj) {
                total -= 0.5 * (sj / (squared - sj * sj) + 2 * inverse + 0.5 / d * log((sj - d) / (sj + d)));
            }
        }
        sums[i] = total;
    }
}
