// Loops that carry something from iteration to iteration in a known way, each with what remarks say of it.

int table[1000];

//: are left out
int first_of_parameter(int n, const int x[static 1000], int value) {
    for (int i = 0; i < n; i++)
        if (x[i] == value) return i;
    return -1;
}

//: are left out
int first_of_global(int n, const int *unused, int value) {
    int i;
    for (i = 0; i < n && table[i] != value; i++) {}
    return i;
}

//: it is not known how much memory there is of what x leads to
int first_of_pointer(int n, const int *x, int value) {
    for (int i = 0; i < n; i++)
        if (x[i] == value) return i;
    return -1;
}

//: are left out
int place_of_smallest(int n, const int *x, int start) {
    int best = start, at = -1;
    for (int i = 0; i < n; i++)
        if (x[i] < best) {
            best = x[i];
            at = i;
        }
    return at;
}

//: are left out
int largest_quotient(int n, const int *x, int start) {
    int best = start, at = -1;
    for (int i = 0; i < n; i++) {
        int q = 1000000 / (x[i] + 1);
        if (q >= best) {
            best = q;
            at = i;
        }
    }
    return at;
}

//: it divides by, or calls, what may not be tried
int first_quotient(int n, const int x[static 1000], int value) {
    for (int i = 0; i < n; i++)
        if (1000000 / (x[i] + 1) == value) return i;
    return -1;
}

//: moved together in lanes|has no instruction that moves together
int keep(int n, const int *x, int *out, int value) {
    int k = 0;
    for (int i = 0; i < n; i++)
        if (x[i] < value) out[k++] = x[i];
    return k;
}

//: moved together in lanes|has no instruction that moves together
int keep_places(int n, const int *restrict x, int *restrict out, int value) {
    int k = 3;
    for (int i = 0; i < n; i++) {
        if (x[i] > 3 * value) {
            out[k] = i;
            ++k;
        }
    }
    return k;
}

//: running sums
int running(int n, const int *x, int *out, int value) {
    int s = value;
    for (int i = 0; i < n; i++) {
        out[i] = s;
        s += x[i] & 15;
    }
    return s;
}

//: one after the other|there is little else to do
int bins(int n, const int *x, int *out, int value) {
    for (int i = 0; i < n; i++) {
        float v = x[i] * 0.001f + value * 1e-4f;
        v = (((((v * 0.1f + 0.2f) * v - 0.3f) * v + 0.4f) * v - 0.5f) * v + 0.6f) * v * v;
        v = (((((v * 0.7f + 0.1f) * v - 0.2f) * v + 0.3f) * v - 0.4f) * v + 0.5f) * v * v;
        out[(int)(v * 40.0f) & 31] += x[i] * 3;
    }
    return 0;
}

//: moved together in lanes|has no instruction that moves together
int kept_by_a_loop_that_asks_at_its_end(int n, int *x, int *out, int value) {
    int k = 0, i = 0;
    do {
        if (x[i] >= 0 && i < n)
            out[k++] = x[i] & 7;
        i++;
    } while (i < n);
    return k;
}
