/* A process that was forked: threads of the parent are not there, and one of them may have held a lock. */

#include "runtime.h"

/* The C library's own registration, which ends when the library is unloaded; `pthread_atfork` is no symbol of it. */
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library);
extern void *__dso_handle;
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

static void forked(void) {
    forked_reset_queue();
    forked_reset_memory();
    forked_reset_modules();
    forked_reset_arenas();
    forked_reset_pool();
    forked_reset_compiler();
}

__attribute__((constructor)) static void prepare(void) { __register_atfork(NULL, NULL, forked, __dso_handle); }
