export void collatz(uniform int32 steps[], uniform int64 count)
{
    uniform int32 numbers = (uniform int32)count;
    foreach (i = 0 ... numbers) {
        int32 n = i + 1, taken = 0;
        while (n != 1) {
            if (n & 1)
                n = 3 * n + 1;
            else
                n >>= 1;
            taken++;
        }
        steps[i] = taken;
    }
}
