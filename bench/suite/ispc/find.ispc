export void find(uniform const REAL labels[], uniform int64 size, uniform const int32 left[], uniform int64 left_size,
                 uniform const int32 right[], uniform int64 right_size, uniform const REAL queries[],
                 uniform int64 count, uniform int32 found[], uniform int64 found_size)
{
    uniform int32 wanted_ones = (uniform int32)count;
    foreach (i = 0 ... wanted_ones) {
        REAL wanted = queries[i], label = labels[0];
        int32 node = 0;
        while (label != wanted) {
            if (wanted < label)
                node = left[node];
            else
                node = right[node];
            if (node == 0) {
                node = -1;
                break;
            }
            label = labels[node];
        }
        found[i] = node;
    }
}
