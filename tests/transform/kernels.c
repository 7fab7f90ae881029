// Functions of the thread's number `t` and of `n`, the same for all threads. kernels.ll is made from this by
//   clang -O1 -Xclang -disable-llvm-passes -fno-discard-value-names -S -emit-llvm -o - kernels.c
// and LLVM's sroa, with attributes and metadata left out.

int collatz(unsigned t) {
  int c = 0;
  t++;
  while (t != 1 && c < 200) {
    t = (t & 1) ? 3 * t + 1 : t >> 1;
    c++;
  }
  return c;
}

int mandelbrot(int t) {
  float cr = t * 0.05f - 2.0f, ci = 0.3f, x = 0, y = 0;
  int i;
  for (i = 0; i < 30; i++) {
    float x2 = x * x, y2 = y * y;
    if (x2 + y2 > 4.0f) break;
    y = 2 * x * y + ci;
    x = x2 - y2 + cr;
  }
  return i;
}

int two_levels(int t, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < t % 7; j++) {
      if (((i * j) ^ t) % 11 == 3) goto out;
      if ((i + j) % 5 == t % 5) {
        s += 100;
        break;
      }
      s += i * j;
    }
    s ^= t;
  }
  s += 7;
  out: return s;
}

int switch_in_loop(int t) {
  int r = 0;
  for (int k = 0; k < t % 9; k++) {
    switch ((t + k) % 5) {
      case 0: r += 1;
      break;
      case 1: r *= 3;
      case 2: r -= 2;
      continue;
      case 3: if (r > 50) return r * 7;
      r += 11;
      break;
      default: r ^= k;
    }
    if (r % 13 == 5) break;
  }
  return r;
}

int diamonds(int t) {
  int a;
  if (t & 1) {
    if (t & 2) a = t * 3;
    else a = t + 9;
    a += 5;
  } else {
    a = t - 4;
    if (t & 4) a *= a;
  }
  if (a > 20) a -= t;
  return a;
}

int three_exits(int t, int n) {
  int i = 0, a = 0;
  for (;;) {
    if (i >= n) {
      a += 1000;
      break;
    }
    if ((t * i) % 17 == 4) {
      a += 2000;
      break;
    }
    a += i;
    if (a > t * 5 + 40) {
      a = -a;
      break;
    }
    i++;
  }
  return a * 10 + i;
}

int returns_from_inside(int t) {
  int s = 0;
  int i = t;
  while (i > 0) {
    int j = i;
    do {
      s += j;
      j -= 3;
      if (s > 500) return s;
    } while (j > 0);
    i -= 2;
    if (s % 7 == 0) {
      i--;
      continue;
    }
    s++;
  }
  return s;
}

int exits_to_three_depths(int t, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) {
      for (int k = j; k < n; k++) {
        s += i ^ (j * k);
        if (s % 7 == t % 7) break;
        if (s % 11 == t % 11) goto next;
        if (s % 23 == t % 23) goto end;
      }
      s += 3;
    }
    next: s ^= 5;
  }
  s += 1000;
  end: return s;
}

int continues(int t) {
  int s = 0;
  for (int i = 0; i < 12; i++) {
    if ((i + t) % 3 == 0) continue;
    s += i;
    if (s % 5 == t % 5) continue;
    s *= 2;
  }
  return s;
}

int uniform_exit(int t, int n) {
  int i = 0, s = t;
  for (;;) {
    if (i == n) {
      s += 5000;
      break;
    }
    s += i;
    if (s % 19 == 3) {
      s -= 100;
      break;
    }
    i++;
  }
  return s * 100 + i;
}

int uniform_loop_of_some(int t, int n) {
  int s = t;
  if (t % 3 == 1) {
    for (int i = 0; i < n; i++) s += i * t;
  } else if (t % 5 == 0) {
    int i = 0;
    do {
      s -= i;
      i += 2;
    } while (i < n);
  }
  return s;
}

int uniform_loop_inside(int t, int n) {
  int s = 0;
  for (int i = 0; i < t % 6; i++) {
    for (int j = 0; j < n; j++) {
      s += i * j;
      if (j == n - 2) break;
    }
    if (t & 8) {
      for (int j = n; j > 0; j--) s ^= j;
    }
  }
  return s;
}

int uniform_branch_inside(int t, int n) {
  int s = 0;
  for (int i = 0; i < t % 5; i++) {
    if (n & 1) {
      s += t;
      if (i & n) s += 3;
    } else s -= i;
  }
  return s;
}

int short_circuits(int t, int n) {
  int r = 0;
  if ((t > 3 && t % 4 != 1) || (n > 2 && t & 1)) r = 1;
  if (!(t & 2 && (n == 3 || t > 9))) r += 10;
  while (r < 60 && (t + r) % 9 != 4 && n) r += t % 5 + 1;
  return r;
}

int joins_by_goto(int t, int n) {
  int s = t;
  if (t & 1) goto b;
  s += 7;
  if (n > 4) goto c;
  b: s *= 2;
  if (t & 4) goto d;
  c: s -= 3;
  if (s & 8) goto e;
  d: s ^= 21;
  e: return s;
}

int goto_out_of_branches(int t, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    if (t & 1) {
      s += 2;
      if (s > 6) goto low;
      s++;
    } else {
      if (i == 3) goto high;
      s += t;
      low: s -= 1;
    }
    s += 4;
    if (s % 10 == 9) break;
  }
  s *= 3;
  high: return s;
}

int no_thread_at_first(int t, int n) {
  int s = 0;
  while (s < t - 100) s += n;
  if (s) s = -1;
  return s + t;
}

int swaps(int t) {
  int a = t, b = 1, c = 2;
  while (a > b) {
    int d = a;
    a = c + b;
    c = d - 2;
    b += 3;
    if (c < 0) break;
  }
  return a * 100 + b * 10 + c;
}
