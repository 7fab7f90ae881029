#define RADIUS_OFFSET 0.09d
#define LARGEST 20.0d

export void born_sums(uniform const double positions[], uniform int64 count, uniform int64 three,
                      uniform const double radii[], uniform int64 radii_size, uniform const double scales[],
                      uniform int64 scales_size, uniform double sums[], uniform int64 size)
{
    uniform int32 atoms = (uniform int32)size;
    foreach (i = 0 ... atoms) {
        double x = positions[3 * i], y = positions[3 * i + 1], z = positions[3 * i + 2];
        double ri = radii[i] - RADIUS_OFFSET, total = 0;
        double inverse = 1 / ri;
        for (uniform int32 j = 0; j < atoms; j++) {
            double dx = x - positions[3 * j], dy = y - positions[3 * j + 1], dz = z - positions[3 * j + 2];
            double squared = dx * dx + dy * dy + dz * dz;
            uniform double sj = scales[j] * (radii[j] - RADIUS_OFFSET);
            double d = sqrt(squared);
            cif (i != j && squared <= (LARGEST + 4) * (LARGEST + 4) && d <= LARGEST + sj) {
                cif (d > LARGEST - sj) {
                    double upper = 1 / (d - sj);
                    total -= 0.125d / d
                             * (1 + 2 * d * upper + (squared - 4 * LARGEST * d - sj * sj) / (LARGEST * LARGEST)
                                + 2 * log((d - sj) / LARGEST));
                } else cif (d > 4 * sj) {
                    double ratio = sj * sj / squared;
                    double series = 1 / 3.0d
                                    + ratio * (2 / 5.0d + ratio * (3 / 7.0d + ratio * (4 / 9.0d + ratio * 5 / 11.0d)));
                    total -= sj * ratio / squared * series;
                } else cif (d > ri + sj) {
                    total -= 0.5d * (sj / (squared - sj * sj) + 0.5d / d * log((d - sj) / (d + sj)));
                } else cif (d > abs(ri - sj)) {
                    double theta = 0.5d * inverse / d * (squared + ri * ri - sj * sj), upper = 1 / (d + sj);
                    total -= 0.25d * (inverse * (2 - theta) - upper + 1 / d * log(ri * upper));
                } else cif (ri < sj) {
                    total -= 0.5d * (sj / (squared - sj * sj) + 2 * inverse + 0.5d / d * log((sj - d) / (sj + d)));
                }
            }
        }
        sums[i] = total;
    }
}
