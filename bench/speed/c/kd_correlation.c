#include <stdint.h>

static inline float outside(float low, float high, float value)
{
    float below = low - value, above = value - high;
    float most = below > above ? below : above;
    return most > 0 ? most : 0;
}

void kd_correlation(const float *restrict points, int64_t count, int64_t two, const float *restrict boxes,
                    int64_t boxes_size, int64_t five, const float *restrict queries, int64_t queries_size,
                    int64_t also_two, float radius, int32_t *restrict counts, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++) {
        int32_t stack[32];
        float x = queries[2 * i], y = queries[2 * i + 1], limit = radius * radius;
        int32_t found = 0;
        int top = 1;
        stack[0] = 0;
        while (top > 0) {
            int64_t node = stack[--top];
            const float *box = boxes + 5 * node;
            float ox = outside(box[0], box[1], x), oy = outside(box[2], box[3], y);
            if (ox * ox + oy * oy > limit)
                continue;
            float dx = x - points[2 * node], dy = y - points[2 * node + 1];
            found += dx * dx + dy * dy <= limit;
            if (2 * node + 1 < count) {
                stack[top++] = 2 * node + 1;
                stack[top++] = 2 * node + 2;
            }
        }
        counts[i] = found;
    }
}
