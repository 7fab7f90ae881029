#define LENGTH 128
#define MATCH 3
#define MISMATCH -2
#define GAP 2

export void align(uniform const unsigned int8 first[], uniform int64 pairs, uniform int64 length,
                  uniform const unsigned int8 second[], uniform int64 second_pairs, uniform int64 second_length,
                  uniform int32 scores[], uniform int64 size)
{
    uniform int32 given = (uniform int32)size;
    foreach (pair = 0 ... given) {
        int32 above[LENGTH + 1], letters[LENGTH], best = 0;
        for (uniform int32 column = 0; column <= LENGTH; column++)
            above[column] = 0;
        for (uniform int32 column = 0; column < LENGTH; column++)
            letters[column] = second[pair * LENGTH + column];
        for (uniform int32 row = 0; row < LENGTH; row++) {
            int32 letter = first[pair * LENGTH + row], diagonal = 0, left = 0;
            for (uniform int32 column = 0; column < LENGTH; column++) {
                int32 reward = letters[column] == letter ? MATCH : MISMATCH;
                int32 score = max(max(0, diagonal + reward), max(above[column + 1], left) - GAP);
                diagonal = above[column + 1];
                above[column + 1] = score;
                left = score;
                best = max(best, score);
            }
        }
        scores[pair] = best;
    }
}
