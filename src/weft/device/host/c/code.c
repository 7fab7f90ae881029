/* Code of kernels: what the compiler answers, loaded. */

#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

extern const size_t weft_few_threads;

static void read_lengths(struct message *reply, struct code *code) {
    int64_t count = message_number(reply);
    for (int64_t i = 0; i < count && !reply->failed; i++) {
        struct length length = {.slot = (size_t)message_number(reply), .longest = message_number(reply)};
        if (code->length_count < MOST_LENGTHS) code->lengths[code->length_count++] = length;
    }
}

bool code_read(struct message *reply, const char *kernel, struct code *code, int64_t *status) {
    *status = message_number(reply);
    char *text = message_text(reply), *entry = message_text(reply);
    code->fixed = (size_t)message_number(reply);
    code->per_lane_group = (size_t)message_number(reply);
    for (int d = 0; d < 3; d++) code->lanes[d] = (size_t)message_number(reply);
    code->chunk = (size_t)message_number(reply);
    read_lengths(reply, code);
    bool loaded = false;
    if (!reply->failed && *status)
        fprintf(stderr, "weft: %s: %s\n", kernel, text);
    else if (!reply->failed) {
        void *library = dlopen(text, RTLD_NOW | RTLD_LOCAL);
        if (!library) fprintf(stderr, "weft: %s\n", dlerror());
        void (**print)(const char *, const int64_t *) = library ? dlsym(library, "weft_host_print") : NULL;
        if (print) *print = weft_print;
        if (library) *(void **)&code->entry = dlsym(library, entry);
        loaded = code->entry;
    }
    free(text);
    free(entry);
    return loaded;
}

struct known_lengths code_lengths(const struct code *code, const int64_t *slots, size_t count, uint64_t threads) {
    struct known_lengths known = {0};
    for (size_t i = 0; i < code->length_count && threads > weft_few_threads; i++) {
        const struct length *length = &code->lengths[i];
        if (length->slot >= count) continue;
        int64_t value = slots[length->slot];
        if (value >= 1 && value <= length->longest) known.values[i] = value;
    }
    return known;
}

bool are_known(const struct known_lengths *lengths) {
    for (size_t i = 0; i < MOST_LENGTHS; i++)
        if (lengths->values[i]) return true;
    return false;
}

void message_add_lengths(struct message *message, const struct code *code, const struct known_lengths *lengths) {
    for (size_t i = 0; i < MOST_LENGTHS; i++) {
        if (!lengths->values[i]) continue;
        message_add_number(message, (int64_t)code->lengths[i].slot);
        message_add_number(message, lengths->values[i]);
    }
}
