/* A process that was forked.

   Threads of the parent are not there, and one of them may have held a lock at that moment. So all locks are made anew,
   and lists that a lock guards are given up where they may be half changed. Contexts made from then on work; objects
   that the parent has made do not run anything here. */

#include "objects.h"

/* The C library's own registration, which ends when the driver is unloaded; `pthread_atfork` is no symbol of it. */
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library);
extern void *__dso_handle;
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

static void forked(void) {
    forked_reset_objects();
    forked_reset_schedule();
    forked_reset_programs();
    forked_reset_launches();
    forked_reset_arenas();
    forked_reset_transfers();
    forked_reset_svm();
    forked_reset_pool();
    forked_reset_compiler();
}

__attribute__((constructor)) static void prepare(void) { __register_atfork(NULL, NULL, forked, __dso_handle); }
