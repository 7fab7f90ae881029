#include <stdint.h>

static inline int is_valid(const uint8_t *restrict text, int32_t place, int32_t end)
{
    while (place < end) {
        int first = text[place++], low = 0x80, high = 0xbf, more;
        if (first < 0x80)
            continue;
        if (0xc2 <= first && first <= 0xdf) {
            more = 1;
        } else if (0xe0 <= first && first <= 0xef) {
            more = 2;
            if (first == 0xe0)
                low = 0xa0;
            else if (first == 0xed)
                high = 0x9f;
        } else if (0xf0 <= first && first <= 0xf4) {
            more = 3;
            if (first == 0xf0)
                low = 0x90;
            else if (first == 0xf4)
                high = 0x8f;
        } else {
            return 0;
        }
        if (place + more > end || text[place] < low || text[place] > high)
            return 0;
        for (int k = 1; k < more; k++)
            if ((text[place + k] & 0xc0) != 0x80)
                return 0;
        place += more;
    }
    return 1;
}

void valid_utf8(const uint8_t *restrict text, int64_t size, const int32_t *restrict starts, int64_t starts_size,
                uint8_t *restrict valid, int64_t count)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        valid[i] = is_valid(text, starts[i], starts[i + 1]);
}
