// Switches: dense, sparse, wide, nested, with fall-through, and those LLVM turns into tables.

int dense(int x) {
  switch (x) {
    case 0: return 5;
    case 1: return 7;
    case 2: return 11;
    case 3: return 13;
    case 4: return 17;
    case 5: return 19;
  }
  return -1;
}

int sparse(long x) {
  switch (x) {
    case -9000000000L: return 1;
    case 3: return 2;
    case 1L << 40: return 3;
    default: return 0;
  }
}

int fall_through(unsigned n, int acc) {
  switch (n & 7) {
    case 7: acc += 7;
    case 6: acc ^= 6;
    case 5: acc += 5; break;
    case 4: acc -= 4;
    case 3: acc *= 3;
    default: acc = -acc;
  }
  return acc;
}

int no_default(signed char c) {
  int r = 0;
  switch (c) {
    case 'a': r = 1; break;
    case 'b': r = 2; break;
    case -1: r = 3; break;
  }
  return r;
}

int ranges(int c) {
  switch (c) {
    case '0' ... '9': return c - '0';
    case 'a' ... 'f': return c - 'a' + 10;
    case 'A' ... 'F': return c - 'A' + 10;
  }
  return -1;
}

int machine(const unsigned char *code, int n) {
  int acc = 0, stack[16], sp = 0;
  for (int pc = 0; pc < n; pc++) {
    switch (code[pc]) {
      case 0: stack[sp++ & 15] = acc; break;
      case 1: acc = stack[--sp & 15]; break;
      case 2: acc += code[++pc]; break;
      case 3: acc = -acc; break;
      case 4: if (acc < 0) pc = -1; break;
      case 255: return acc;
    }
  }
  return acc;
}

int nested_switch(int a, int b) {
  switch (a) {
    case 1:
      switch (b) {
        case 1: return 11;
        case 2: return 12;
      }
      break;
    case 2: return b > 0 ? 21 : 22;
  }
  return 0;
}

enum color { RED, GREEN = 4, BLUE };

const char *name_of(enum color c) {
  switch (c) {
    case RED: return "red";
    case GREEN: return "green";
    case BLUE: return "blue";
  }
  return 0;
}

unsigned long wide(unsigned long long x) {
  switch (x) {
    case 0: return 1;
    case ~0ull: return 2;
    case 0x8000000000000000ull: return 3;
  }
  return x;
}

int duff(short *to, const short *from, int count) {
  int n = (count + 3) / 4;
  switch (count % 4) {
    case 0: do { *to++ = *from++;
    case 3:      *to++ = *from++;
    case 2:      *to++ = *from++;
    case 1:      *to++ = *from++;
            } while (--n > 0);
  }
  return count;
}

double by_kind(int kind, double x, double y) {
  switch (kind) {
    case 10: return x + y;
    case 20: return x - y;
    case 30: return x * y;
    case 40: return x / y;
    default: __builtin_unreachable();
  }
}

int switch_in_loop(const char *s) {
  int state = 0;
  for (; *s; s++)
    switch (state) {
      case 0: state = *s == '/' ? 1 : 0; break;
      case 1: state = *s == '*' ? 2 : 0; break;
      case 2: state = *s == '*' ? 3 : 2; break;
      case 3: state = *s == '/' ? 0 : 2; break;
    }
  return state;
}

_Bool is_vowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u'; }

int all_same_target(int x) {
  switch (x) {
    case 1: case 2: case 3: case 10: case 20: return 1;
    case 4: case 5: return 2;
  }
  return 3;
}
