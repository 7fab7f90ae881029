#include <stdint.h>

#define CHANNELS 5

void macroscopic(const double *restrict energies, int64_t grids, int64_t points, const double *restrict channels,
                 int64_t channels_grids, int64_t channels_points, int64_t five, const int32_t *restrict starts,
                 int64_t starts_size, const int32_t *restrict nuclides, int64_t nuclides_size,
                 const double *restrict densities, int64_t densities_size, const double *restrict wanted, int64_t size,
                 const int32_t *restrict materials, int64_t materials_size, double *restrict totals,
                 int64_t totals_size, int64_t totals_five)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++) {
        double energy = wanted[i], sums[CHANNELS] = {0};
        int32_t material = materials[i];
        for (int32_t entry = starts[material]; entry < starts[material + 1]; entry++) {
            const double *grid = energies + nuclides[entry] * points;
            int64_t low = 0, high = points - 1;
            while (high - low > 1) {
                int64_t middle = (low + high) / 2;
                if (grid[middle] > energy)
                    high = middle;
                else
                    low = middle;
            }
            double fraction = (grid[low + 1] - energy) / (grid[low + 1] - grid[low]);
            const double *lower = channels + (nuclides[entry] * points + low) * CHANNELS, *upper = lower + CHANNELS;
            for (int c = 0; c < CHANNELS; c++)
                sums[c] += densities[entry] * (upper[c] - fraction * (upper[c] - lower[c]));
        }
        for (int c = 0; c < CHANNELS; c++)
            totals[i * CHANNELS + c] = sums[c];
    }
}
