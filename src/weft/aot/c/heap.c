/* Arrays that functions make: what they hand over is copied, as it may lie in the midst of a block, or in an argument. */

#include "aot.h"

#include <stdlib.h>
#include <string.h>

/* What precedes a block's data, in 64 bytes (weft.ir.heap). */
struct block {
    struct block *next;
    int64_t size, kept;
    void *raw;
};

void weft_aot_release(void *first) {
    for (struct block *block = first; block;) {
        struct block *next = block->next;
        free(block->raw);
        block = next;
    }
}

static char *copy(char *to, const char *from, const int64_t *shape, const int64_t *strides, int ndim, size_t size) {
    if (!ndim) {
        memcpy(to, from, size);
        return to + size;
    }
    for (int64_t i = 0; i < *shape; i++) to = copy(to, from + i * *strides, shape + 1, strides + 1, ndim - 1, size);
    return to;
}

void *weft_aot_array(const void *data, const int64_t *shape, const int64_t *strides, int ndim, size_t size) {
    size_t bytes = size;
    for (int d = 0; d < ndim; d++) bytes *= (size_t)shape[d];
    char *made = malloc(bytes ? bytes : 1);
    if (!made || !bytes) return made;
    if (strides)
        copy(made, data, shape, strides, ndim, size);
    else
        memcpy(made, data, bytes);
    return made;
}
