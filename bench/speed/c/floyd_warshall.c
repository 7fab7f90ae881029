#include <stdint.h>

void floyd_warshall(float *restrict distances, int64_t count, int64_t columns)
{
    for (int64_t k = 0; k < count; k++) {
        PARALLEL_FOR
        for (int64_t i = 0; i < count; i++) {
            float first = distances[i * count + k];
            for (int64_t j = 0; j < count; j++) {
                float through = first + distances[k * count + j];
                if (through < distances[i * count + j])
                    distances[i * count + j] = through;
            }
        }
    }
}
