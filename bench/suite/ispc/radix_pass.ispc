#define CHUNK 4096

export void radix_pass(uniform const unsigned int32 keys[], uniform int64 size, uniform unsigned int32 shift,
                       uniform int32 counts[], uniform int64 chunks, uniform int64 digits,
                       uniform unsigned int32 result[], uniform int64 result_size)
{
    uniform int32 given = (uniform int32)size, parts = (uniform int32)chunks;
    foreach (chunk = 0 ... parts) {
        int32 end = min((chunk + 1) * CHUNK, given);
        for (uniform int32 digit = 0; digit < 256; digit++)
            counts[256 * chunk + digit] = 0;
        for (int32 k = chunk * CHUNK; k < end; k++)
            counts[256 * chunk + ((keys[k] >> shift) & 255)]++;
    }
    uniform int32 total = 0;
    for (uniform int32 digit = 0; digit < 256; digit++)
        for (uniform int32 chunk = 0; chunk < parts; chunk++) {
            uniform int32 found = counts[256 * chunk + digit];
            counts[256 * chunk + digit] = total;
            total += found;
        }
    foreach (chunk = 0 ... parts) {
        int32 end = min((chunk + 1) * CHUNK, given);
        for (int32 k = chunk * CHUNK; k < end; k++) {
            unsigned int32 key = keys[k];
            int32 digit = 256 * chunk + ((key >> shift) & 255);
            int32 place = counts[digit];
            counts[digit] = place + 1;
            result[place] = key;
        }
    }
}
