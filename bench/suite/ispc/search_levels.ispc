export void search_levels(uniform const int32 starts[], uniform int64 starts_size, uniform const int32 neighbours[],
                          uniform int64 neighbours_size, uniform int32 depths[], uniform int64 vertices,
                          uniform int32 changed[], uniform int64 one)
{
    uniform int32 count = (uniform int32)vertices, found = 1;
    for (uniform int32 depth = 0; found; depth++) {
        found = 0;
        foreach (vertex = 0 ... count) {
            cif (depths[vertex] == depth) {
                int32 end = starts[vertex + 1];
                for (int32 k = starts[vertex]; k < end; k++) {
                    int32 other = neighbours[k];
                    bool is_new = depths[other] < 0;
                    if (is_new)
                        depths[other] = depth + 1;
                    if (any(is_new))
                        found = 1;
                }
            }
        }
    }
    changed[0] = 0;
}
