#include <stdint.h>

#define LENGTH 128
#define MATCH 3
#define MISMATCH -2
#define GAP 2

static inline int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

void align(const uint8_t *restrict first, int64_t pairs, int64_t length, const uint8_t *restrict second,
           int64_t second_pairs, int64_t second_length, int32_t *restrict scores, int64_t size)
{
    PARALLEL_FOR
    for (int64_t pair = 0; pair < size; pair++) {
        int32_t above[LENGTH + 1] = {0}, best = 0;
        for (int row = 0; row < LENGTH; row++) {
            uint8_t letter = first[pair * LENGTH + row];
            int32_t diagonal = 0, left = 0;
            for (int column = 0; column < LENGTH; column++) {
                int32_t reward = second[pair * LENGTH + column] == letter ? MATCH : MISMATCH;
                int32_t gapped = larger(above[column + 1], left) - GAP;
                int32_t score = larger(larger(0, diagonal + reward), gapped);
                diagonal = above[column + 1];
                above[column + 1] = score;
                left = score;
                best = larger(best, score);
            }
        }
        scores[pair] = best;
    }
}
