export void find_pattern(uniform const unsigned int8 text[], uniform int64 size, uniform const unsigned int8 pattern[],
                         uniform int64 length, uniform unsigned int8 found[], uniform int64 places)
{
    uniform int32 last = (uniform int32)places, letters = (uniform int32)length;
    foreach (i = 0 ... last) {
        bool is_there = true;
        for (uniform int32 k = 0; k < letters && any(is_there); k++)
            is_there = is_there && text[i + k] == pattern[k];
        found[i] = is_there ? 1 : 0;
    }
}
