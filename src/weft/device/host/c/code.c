/* Code of kernels: what the compiler answers, loaded. */

#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

bool code_read(struct message *reply, const char *kernel, struct code *code, int64_t *status) {
    *status = message_number(reply);
    char *text = message_text(reply), *entry = message_text(reply);
    code->fixed = (size_t)message_number(reply);
    code->per_lane_group = (size_t)message_number(reply);
    for (int d = 0; d < 3; d++) code->lanes[d] = (size_t)message_number(reply);
    code->chunk = (size_t)message_number(reply);
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
