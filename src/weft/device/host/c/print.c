/* printf and print of kernels: what compiled code calls with a letter and eight bytes for each value.

   The letters are "%" and one for each slot: the first slot is the address of the format, the others are numbers, `f` for
   doubles and `u` for the rest, as the front end has widened them (weft.frontend.device.printing). The formats are C's,
   with the vectors of the OpenCL C specification, §6.13.13 (`%v4hlf`). Without a "%" they are of Python's print
   (weft.diag.print_format). Lines of several work-items never mix. */

#include "host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conversion {
    char flags[9], letter;
    int width, precision, lanes;
    /* Bytes of an integer: the widened value is cut to them. */
    int bytes;
    /* Whether width and precision are values of their own. */
    bool width_given, precision_given;
};

static const char *read_number(const char *at, int *number) {
    for (*number = 0; *at >= '0' && *at <= '9'; at++) *number = *number * 10 + (*at - '0');
    return at;
}

/* Reads what follows a `%`; where it ends. */
static const char *read_conversion(const char *at, struct conversion *found) {
    *found = (struct conversion){.width = -1, .precision = -1, .lanes = 1, .bytes = 4};
    size_t flags = 0;
    while (*at && strchr("-+ #0", *at)) {
        if (flags < sizeof found->flags - 2) found->flags[flags++] = *at;
        at++;
    }
    if (*at == '*') {
        found->width_given = true;
        at++;
    } else if (*at >= '0' && *at <= '9')
        at = read_number(at, &found->width);
    if (*at == '.' && at[1] == '*') {
        found->precision_given = true;
        at += 2;
    } else if (*at == '.')
        at = read_number(at + 1, &found->precision);
    if (*at == 'v') at = read_number(at + 1, &found->lanes);
    if (!strncmp(at, "hh", 2)) {
        found->bytes = 1;
        at += 2;
    } else if (!strncmp(at, "hl", 2))
        at += 2;
    else if (*at == 'h') {
        found->bytes = 2;
        at++;
    } else
        while (*at && strchr("lzjtqL", *at)) {
            found->bytes = 8;
            at++;
        }
    found->letter = *at;
    return *at ? at + 1 : at;
}

static int64_t cut(int64_t value, int bytes, bool has_sign) {
    int shift = 64 - 8 * bytes;
    uint64_t high = (uint64_t)value << shift;
    return has_sign ? (int64_t)high >> shift : (int64_t)(high >> shift);
}

static void write_value(FILE *out, const struct conversion *conversion, int64_t slot) {
    char form[48];
    double number;
    int at = snprintf(form, sizeof form, "%%%s", conversion->flags);
    if (conversion->width >= 0) at += snprintf(form + at, sizeof form - (size_t)at, "%d", conversion->width);
    if (conversion->precision >= 0) at += snprintf(form + at, sizeof form - (size_t)at, ".%d", conversion->precision);
    switch (conversion->letter) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X': {
        bool has_sign = conversion->letter == 'd' || conversion->letter == 'i';
        snprintf(form + at, sizeof form - (size_t)at, "ll%c", conversion->letter);
        fprintf(out, form, (long long)cut(slot, conversion->bytes, has_sign));
        break;
    }
    case 'c':
        strcpy(form + at, "c");
        fprintf(out, form, (int)(unsigned char)slot);
        break;
    case 's': {
        const char *text = (const char *)slot;
        strcpy(form + at, "s");
        fprintf(out, form, text ? text : "(null)");
        break;
    }
    case 'p':
        strcpy(form + at, "p");
        fprintf(out, form, (void *)slot);
        break;
    default:
        memcpy(&number, &slot, sizeof number);
        snprintf(form + at, sizeof form - (size_t)at, "%c", conversion->letter);
        fprintf(out, form, number);
    }
}

static void write_c(FILE *out, const int64_t *slots, size_t count) {
    const int64_t *slot = slots + 1, *end = slots + count;
    for (const char *at = (const char *)slots[0]; *at;) {
        if (*at != '%') {
            putc(*at++, out);
            continue;
        }
        struct conversion conversion;
        at = read_conversion(at + 1, &conversion);
        if (conversion.letter == '%') {
            putc('%', out);
            continue;
        }
        if (!strchr("dioxXufFeEgGaAcsp", conversion.letter) || !conversion.letter) continue;
        if (conversion.width_given && slot < end) conversion.width = (int)*slot++;
        if (conversion.precision_given && slot < end) conversion.precision = (int)*slot++;
        if (conversion.width < 0 && conversion.width_given) {
            conversion.width = -conversion.width;
            strcat(conversion.flags, "-");
        }
        for (int lane = 0; lane < conversion.lanes && slot < end; lane++) {
            if (lane) putc(',', out);
            write_value(out, &conversion, *slot++);
        }
    }
}

/* As Python writes it: the fewest digits that tell it from its neighbours. */
static void write_double(FILE *out, double value) {
    char text[40];
    if (isnan(value) || isinf(value)) {
        fputs(isnan(value) ? "nan" : value < 0 ? "-inf" : "inf", out);
        return;
    }
    int digits = 0;
    do
        snprintf(text, sizeof text, "%.*e", digits++, value);
    while (strtod(text, NULL) != value);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= 16)
        fputs(text, out);
    else
        fprintf(out, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 1, value);
}

static void write_python(FILE *out, const char *letters, const int64_t *slots) {
    for (const char *at = letters; *at; at++, slots++) {
        double number;
        /* A capital letter has no space before it. */
        if (at > letters && *at >= 'a') putc(' ', out);
        switch (*at | 32) {
        case 's':
            fputs((const char *)*slots, out);
            break;
        case 'b':
            fputs(*slots ? "True" : "False", out);
            break;
        case 'f':
            memcpy(&number, slots, sizeof number);
            write_double(out, number);
            break;
        case 'u':
            fprintf(out, "%llu", (unsigned long long)*slots);
            break;
        default:
            fprintf(out, "%lld", (long long)*slots);
        }
    }
    putc('\n', out);
}

static void (*writer)(const char *text);

void print_to(void (*write)(const char *text)) { __atomic_store_n(&writer, write, __ATOMIC_RELEASE); }

void weft_print(const char *letters, const int64_t *slots) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return;
    if (*letters == '%')
        write_c(out, slots, strlen(letters) - 1);
    else
        write_python(out, letters, slots);
    if (!fclose(out)) {
        void (*write)(const char *) = __atomic_load_n(&writer, __ATOMIC_ACQUIRE);
        if (write)
            write(text);
        else {
            fwrite(text, 1, size, stdout);
            fflush(stdout);
        }
    }
    free(text);
}
