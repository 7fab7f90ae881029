export void valid_utf8(uniform const unsigned int8 text[], uniform int64 size, uniform const int32 starts[],
                       uniform int64 starts_size, uniform unsigned int8 valid[], uniform int64 count)
{
    uniform int32 strings = (uniform int32)count;
    foreach (i = 0 ... strings) {
        int32 place = starts[i], end = starts[i + 1];
        bool good = true;
        while (good && place < end) {
            int32 first = text[place++];
            if (first >= 0x80) {
                int32 low = 0x80, high = 0xbf, more = 0;
                if (first >= 0xc2 && first <= 0xdf)
                    more = 1;
                else if (first >= 0xe0 && first <= 0xef)
                    more = 2;
                else if (first >= 0xf0 && first <= 0xf4)
                    more = 3;
                if (first == 0xe0)
                    low = 0xa0;
                if (first == 0xed)
                    high = 0x9f;
                if (first == 0xf0)
                    low = 0x90;
                if (first == 0xf4)
                    high = 0x8f;
                good = more > 0 && place + more <= end;
                if (good) {
                    int32 second = text[place];
                    good = second >= low && second <= high;
                    for (int32 k = 1; k < more; k++)
                        good = good && (text[place + k] & 0xc0) == 0x80;
                    place += more;
                }
            }
        }
        valid[i] = good ? 1 : 0;
    }
}
