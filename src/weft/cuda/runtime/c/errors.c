/* Errors: the latest of each thread, and that of a device that is broken. */

#include "runtime.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static _Thread_local cudaError_t latest;
static _Atomic cudaError_t broken;

cudaError_t report(cudaError_t error) {
    cudaError_t sticky = broken;
    if (sticky) error = sticky;
    /* That something is not done yet is an answer. */
    if (error && error != cudaErrorNotReady) latest = error;
    return error;
}

void device_break(cudaError_t error) {
    cudaError_t none = cudaSuccess;
    atomic_compare_exchange_strong(&broken, &none, error);
}

cudaError_t device_error(void) { return broken; }

void device_mend(void) {
    broken = cudaSuccess;
    latest = cudaSuccess;
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr);
    fputs("weft: ", stderr);
    vfprintf(stderr, format, arguments);
    putc('\n', stderr);
    funlockfile(stderr);
    va_end(arguments);
}

API cudaError_t cudaPeekAtLastError(void) {
    cudaError_t sticky = broken;
    return sticky ? sticky : latest;
}

API cudaError_t cudaGetLastError(void) {
    cudaError_t error = cudaPeekAtLastError();
    latest = cudaSuccess;
    return error;
}

static const struct {
    cudaError_t number;
    const char *name, *text;
} table[] = {
#define E(name, number, text) {number, #name, text},
    ERRORS
#undef E
};

API const char *cudaGetErrorName(cudaError_t error) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].number == error) return table[i].name;
    return "unrecognized error code";
}

API const char *cudaGetErrorString(cudaError_t error) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].number == error) return table[i].text;
    return "unrecognized error code";
}

/* What the runtime of CUDA has, and this one has not. */
API cudaError_t weft_missing(const char *name) {
    say("%s is not there", name);
    return report(cudaErrorNotSupported);
}
