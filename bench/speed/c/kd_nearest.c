#include <stdint.h>

void kd_nearest(const float *restrict points, int64_t count, int64_t two, const float *restrict queries,
                int64_t queries_size, int64_t also_two, float *restrict distances, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++) {
        int32_t nodes[32];
        float gaps[32];
        float x = queries[2 * i], y = queries[2 * i + 1], best = 3e38f;
        int top = 0;
        int32_t node = 0, axis = 0;
        float gap = 0;
        for (;;) {
            if (gap < best && node < count) {
                float dx = x - points[2 * (int64_t)node], dy = y - points[2 * (int64_t)node + 1];
                float squared = dx * dx + dy * dy;
                if (squared < best)
                    best = squared;
                float delta = axis ? dy : dx;
                int32_t right = delta > 0;
                axis ^= 1;
                nodes[top] = (2 * node + 2 - right) << 1 | axis;
                gaps[top++] = delta * delta;
                node = 2 * node + 1 + right;
                gap = 0;
            } else {
                if (top == 0)
                    break;
                top--;
                node = nodes[top] >> 1;
                axis = nodes[top] & 1;
                gap = gaps[top];
            }
        }
        distances[i] = best;
    }
}
