// Control flow that no structured statement gives, irreducible loops among it.

int retry(int (*step)(int), int n) {
again:
  if (n <= 0) goto fail;
  if (step(n) == 0) { n--; goto again; }
  return n;
fail:
  return -1;
}

int irreducible(int a, int n) {
  int s = 0;
  if (a) goto middle;
top:
  s += n;
middle:
  s ^= 3;
  if (--n > 0) goto top;
  return s;
}

int two_entries(int a, int b) {
  if (a > b) goto x;
y:
  b += 2;
  if (b > 100) goto out;
x:
  a += 3;
  if (a < 50) goto y;
out:
  return a - b;
}

int leave_nest(const int *m, int n) {
  int found = -1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        if (m[i + j * n] == k * k) { found = i; goto done; }
done:
  return found;
}

int into_loop(int n, int skip) {
  int i = 0, s = 0;
  if (skip) goto inside;
  while (i < n) {
    s += i;
inside:
    i++;
    s -= 1;
  }
  return s;
}

int cleanup(int *a, int *b) {
  int r = 1;
  if (!a) goto none;
  if (!b) goto only_a;
  r = *a + *b;
  *b = 0;
only_a:
  *a = 0;
none:
  return r;
}

int state_machine(const char *s) {
  int n = 0;
start:
  switch (*s++) {
    case 0: goto end;
    case '0' ... '9': goto digit;
    default: goto start;
  }
digit:
  n++;
  while (*s >= '0' && *s <= '9') s++;
  goto start;
end:
  return n;
}

int self_loop(volatile int *p) {
wait:
  if (*p == 0) goto wait;
  return *p;
}

void forever(volatile int *p) { for (;;) *p += 1; }

int diamond(int a, int b) {
  int r;
  if (a < b) {
    if (a < 0) r = 1; else r = 2;
  } else if (b < 0) r = 3;
  else r = 4;
  return r * (a ^ b);
}

int short_circuit(const int *p, int n) { return p && n > 0 && (p[0] == 1 || p[n - 1] == 2) && !(n & 1); }

int chain(int x) {
  return x < 0 ? -1 : x == 0 ? 0 : x < 10 ? 1 : x < 100 ? 2 : 3;
}

int early(const int *p, int n) {
  if (!p) return 0;
  if (n < 1) return 1;
  for (int i = 0; i < n; i++) {
    if (p[i] == 0) return 2;
    if (p[i] < 0) break;
    if (p[i] > 9) continue;
    return 3;
  }
  return 4;
}

int comma(int a, int b) { return (a++, b += a, a * b); }

int nested_ternary(int a, int b, int c) { return (a ? b ? 1 : 2 : c ? 3 : 4) + (a && b ? c : 0); }

int unreachable_tail(int x) {
  if (x > 0) return 1;
  else return 2;
  return 3;
}
