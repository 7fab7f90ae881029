/* The thread pool that runs work-groups: the runtime's own (weft.runtime.pool_ir), whose code is linked to this. */

#include "host.h"

#include <stdlib.h>
#include <string.h>

/* As weft.runtime.pool_ir has it; the numbers come from there when the driver is built. */
extern const size_t weft_pool_size, weft_pool_alignment, weft_pool_spin, weft_pool_threads;
enum { SPIN = 30000 };

struct job {
    group_function function;
    void *record;
    int64_t groups, threads, chunk;
};

int32_t weft_pool_launch(void *pool, const struct job *job);
void *weft_pool_worker(void *pool);

static struct {
    pthread_mutex_t lock;
    void *memory;
    uint32_t workers;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t pool_threads(void) {
    static uint32_t threads;
    if (!threads) {
        const char *wish = getenv("WEFT_NUM_THREADS");
        long number = wish ? atol(wish) : 0;
        uint32_t count = number > 0 ? (uint32_t)number : processor_count();
        threads = count < weft_pool_threads ? count : (uint32_t)weft_pool_threads;
    }
    return threads;
}

/* A forked process has no workers; the parent's pool may be in the midst of a launch. */
void forked_reset_pool(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pool.memory = NULL;
    pool.workers = 0;
}

/* Workers for launches by so many threads. */
void *pool_prepare(uint32_t threads) {
    pthread_mutex_lock(&pool.lock);
    if (!pool.memory && posix_memalign(&pool.memory, weft_pool_alignment, weft_pool_size) == 0)
        memset(pool.memory, 0, weft_pool_size);
    if (pool.memory && pool.workers + 1 < threads) {
        int64_t spin = threads - 1 < processor_count() ? SPIN : 0;
        memcpy((char *)pool.memory + weft_pool_spin, &spin, sizeof spin);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_t thread;
        while (pool.workers + 1 < threads && !pthread_create(&thread, &attributes, weft_pool_worker, pool.memory))
            pool.workers++;
        pthread_attr_destroy(&attributes);
    }
    void *memory = pool.memory;
    pthread_mutex_unlock(&pool.lock);
    return memory;
}

int32_t pool_run(group_function function, void *record, int64_t groups, int64_t chunk, uint32_t threads) {
    struct job job = {function, record, groups, threads, chunk};
    void *memory = groups > chunk && threads > 1 ? pool_prepare(threads) : NULL;
    return memory ? weft_pool_launch(memory, &job) : function(record, 0, groups, 0);
}

/* What the pool's code asks about interrupts (weft.runtime.interrupts): in a host of any language there are none. */
int32_t weft_interrupt;
void *weft_context(void) { return NULL; }
void weft_context_make(void *context, void *parent, void *stop) { (void)context, (void)parent, (void)stop; }
int32_t weft_look(void *context) { return (void)context, 0; }
_Noreturn void weft_unwind(void *context) {
    (void)context;
    abort();
}
void weft_poll(void) {}
void weft_rouse(void) {}
void weft_interrupt_join(void) {}
int32_t weft_guard(void *context, int32_t (*function)(void *, void *, int32_t), void *a, void *b, int32_t c) {
    (void)context;
    return function(a, b, c);
}
