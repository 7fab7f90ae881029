export void binary_search(uniform const float values[], uniform int64 size, uniform const float keys[],
                          uniform int64 count, uniform int32 places[], uniform int64 places_size)
{
    uniform int32 queries = (uniform int32)count;
    foreach (i = 0 ... queries) {
        float key = keys[i];
        int32 low = 0, high = (uniform int32)size;
        while (high - low > 1) {
            int32 middle = (low + high) >> 1;
            if (values[middle] > key)
                high = middle;
            else
                low = middle;
        }
        places[i] = low;
    }
}
