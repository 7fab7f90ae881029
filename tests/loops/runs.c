// Runs, places that are taken from counters, and bytes under conditions: what all doors make at once.

typedef unsigned char byte;

void starts(const byte *restrict x, const int *restrict at, long n, byte *restrict y) {
  for (long i = 0; i < n; i++)
    for (int k = at[i]; k < at[i + 1]; k++) y[k] = x[i];
}

void pointers(const byte *restrict x, const int *restrict lengths, long n, byte *restrict y) {
  byte *p = y;
  for (long i = 0; i < n; i++)
    for (int k = 0; k < lengths[i]; k++) *p++ = x[i];
}

void pieces(const byte *x, const int *lengths, long n, byte *y) {
  long to = 0;
  for (long i = 0; i < n; i++) {
    int length = lengths[i];
    for (int k = 0; k < length; k++) y[to + k] = x[3 * i + k];
    to += length;
  }
}

void places(const byte *x, int *counts, long n, byte *y) {
  for (long i = 0; i < n; i++) y[counts[x[i] & 3]++] = x[i];
}

void chosen(const byte *restrict x, const int *restrict table, long n, byte *restrict y) {
  for (long i = 0; i < n; i++)
    if (x[i] > 20) y[i] = x[i] + 1;
}
