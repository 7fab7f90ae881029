#include <math.h>
#include <stdint.h>

void kepler(const double *restrict means, int64_t count, const double *restrict eccentricities, int64_t size,
            double *restrict angles, int64_t also_size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        double mean = means[i], eccentricity = eccentricities[i];
        double angle = mean + eccentricity * sin(mean), change = 1;
        for (int n = 0; fabs(change) > 1e-12 && n < 50; n++) {
            change = (angle - eccentricity * sin(angle) - mean) / (1 - eccentricity * cos(angle));
            angle -= change;
        }
        angles[i] = angle;
    }
}
