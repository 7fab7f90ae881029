#include <stdint.h>

void find_pattern(const uint8_t *restrict text, int64_t size, const uint8_t *restrict pattern, int64_t length,
                  uint8_t *restrict found, int64_t places)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < places; i++) {
        int64_t k = 0;
        while (k < length && text[i + k] == pattern[k])
            k++;
        found[i] = k == length;
    }
}
