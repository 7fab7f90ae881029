#define STRETCH 1024

static inline void exchange(uniform float stretch[], int32 low, uniform int32 distance, bool is_ascending)
{
    float a = stretch[low], b = stretch[low + distance];
    float less = min(a, b), more = max(a, b);
    stretch[low] = is_ascending ? less : more;
    stretch[low + distance] = is_ascending ? more : less;
}

// Pairs that are near are numbered through, others lie side by side.
export void bitonic_sort(uniform float values[], uniform int64 size)
{
    for (uniform int64 start = 0; start < size; start += STRETCH) {
        uniform float *uniform stretch = values + start;
        for (uniform int32 length = 2; length <= STRETCH; length *= 2)
            for (uniform int32 distance = length / 2; distance > 0; distance /= 2)
                if (distance < programCount)
                    foreach (pair = 0 ... STRETCH / 2) {
                        int32 low = 2 * pair - (pair & (distance - 1));
                        exchange(stretch, low, distance, (low & length) == 0);
                    }
                else
                    for (uniform int32 first = 0; first < STRETCH; first += 2 * distance)
                        foreach (k = first ... first + distance)
                            exchange(stretch, k, distance, (first & length) == 0);
    }
}
