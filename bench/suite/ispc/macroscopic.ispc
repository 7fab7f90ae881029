#define CHANNELS 5

export void macroscopic(uniform const double energies[], uniform int64 grids, uniform int64 points,
                        uniform const double channels[], uniform int64 channels_grids, uniform int64 channels_points,
                        uniform int64 five, uniform const int32 starts[], uniform int64 starts_size,
                        uniform const int32 nuclides[], uniform int64 nuclides_size, uniform const double densities[],
                        uniform int64 densities_size, uniform const double wanted[], uniform int64 size,
                        uniform const int32 materials[], uniform int64 materials_size, uniform double totals[],
                        uniform int64 totals_size, uniform int64 totals_five)
{
    uniform int32 lookups = (uniform int32)size, width = (uniform int32)points;
    foreach (i = 0 ... lookups) {
        double energy = wanted[i], sums[CHANNELS];
        int32 material = materials[i];
        int32 end = starts[material + 1];
        for (uniform int32 c = 0; c < CHANNELS; c++)
            sums[c] = 0;
        for (int32 entry = starts[material]; entry < end; entry++) {
            int32 grid = nuclides[entry] * width, low = 0, high = width - 1;
            while (high - low > 1) {
                int32 middle = (low + high) >> 1;
                bool is_above = energies[grid + middle] > energy;
                high = is_above ? middle : high;
                low = is_above ? low : middle;
            }
            double above = energies[grid + low + 1], density = densities[entry];
            double fraction = (above - energy) / (above - energies[grid + low]);
            int32 place = (grid + low) * CHANNELS;
            for (uniform int32 c = 0; c < CHANNELS; c++) {
                double upper = channels[place + CHANNELS + c];
                sums[c] += density * (upper - fraction * (upper - channels[place + c]));
            }
        }
        for (uniform int32 c = 0; c < CHANNELS; c++)
            totals[i * CHANNELS + c] = sums[c];
    }
}
