/* Launching kernels, and the pool for functions with parallel loops. */

#include "aot.h"

#include <string.h>

/* What functions read: the pool's memory, and how many threads (weft.runtime.parallel). */
struct {
    void *pool;
    int64_t threads;
} weft_parallel_settings;

static void after_fork(void) {
    forked_reset_arenas();
    forked_reset_pool();
    memset(&weft_parallel_settings, 0, sizeof weft_parallel_settings);
}

/* The C library's own registration, which ends when the library is unloaded; `pthread_atfork` is no symbol of it. */
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library);
extern void *__dso_handle;
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

__attribute__((constructor)) static void watch_forks(void) { __register_atfork(NULL, NULL, after_fork, __dso_handle); }

void weft_aot_prepare(void) {
    if (__atomic_load_n(&weft_parallel_settings.threads, __ATOMIC_ACQUIRE)) return;
    uint32_t threads = pool_threads();
    weft_parallel_settings.pool = threads > 1 ? pool_prepare(threads) : NULL;
    __atomic_store_n(&weft_parallel_settings.threads, weft_parallel_settings.pool ? threads : 1, __ATOMIC_RELEASE);
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int weft_aot_launch(
    const struct code *code, const struct run_unit *unit, const int64_t *grid, const int64_t *block, int64_t dynamic,
    int64_t *slots) {
    int64_t groups = 1, threads_of_group = 1;
    size_t local[3];
    for (int d = 0; d < 3; d++) {
        if (grid[d] < 1 || grid[d] > INT32_MAX || block[d] < 1 || block[d] > 1024) return 3;
        if (__builtin_mul_overflow(groups, grid[d], &groups)) return 3;
        threads_of_group *= block[d];
        local[d] = (size_t)block[d];
    }
    if (threads_of_group > 1024 || dynamic < 0) return 3;
    int64_t size = block[unit->dimension];
    int64_t chunk = unit->size >= 0 && unit->size != size ? 1 : unit->width / common_divisor(unit->width, size);
    chunk *= unit->rows / common_divisor(unit->rows, block[unit->across]);
    int64_t runs = (groups + chunk - 1) / chunk;
    uint32_t threads = pool_threads();
    if (threads > runs) threads = (uint32_t)runs;
    struct arenas *arenas = arenas_take(arena_bytes(code, local, (size_t)dynamic), threads);
    if (!arenas) return 2;
    int64_t error[ERROR_WORDS] = {0};
    struct record record = {
        {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, slots, arenas->table, dynamic, error};
    int status = pool_run(code->entry, &record, groups, chunk, threads);
    arenas_give(arenas);
    return status ? 1 : 0;
}
