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
