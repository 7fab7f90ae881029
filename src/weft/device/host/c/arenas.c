/* Scratch memory of workers, kept from launch to launch. */

#include "host.h"

#include <stdlib.h>

static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static struct arenas *free_arenas;

void forked_reset_arenas(void) {
    pthread_mutex_init(&arena_lock, NULL);
    free_arenas = NULL;
}

struct arenas *arenas_take(size_t bytes, uint32_t threads) {
    bytes = (bytes + 4095) / 4096 * 4096;
    pthread_mutex_lock(&arena_lock);
    struct arenas **at = &free_arenas;
    while (*at && ((*at)->bytes < bytes || (*at)->count < threads)) at = &(*at)->next;
    struct arenas *arenas = *at;
    if (arenas) *at = arenas->next;
    pthread_mutex_unlock(&arena_lock);
    if (arenas) return arenas;
    arenas = malloc(sizeof *arenas + threads * sizeof *arenas->table);
    void *data = NULL;
    if (!arenas || posix_memalign(&data, 4096, bytes * threads)) {
        free(arenas);
        return NULL;
    }
    *arenas = (struct arenas){.bytes = bytes, .count = threads, .data = data};
    for (uint32_t i = 0; i < threads; i++) arenas->table[i] = arenas->data + i * bytes;
    return arenas;
}

void arenas_give(struct arenas *arenas) {
    pthread_mutex_lock(&arena_lock);
    arenas->next = free_arenas;
    free_arenas = arenas;
    pthread_mutex_unlock(&arena_lock);
}

size_t arena_bytes(const struct code *code, const size_t *local, size_t dynamic) {
    size_t lane_groups = 1;
    for (int d = 0; d < 3; d++) lane_groups *= (local[d] + code->lanes[d] - 1) / code->lanes[d];
    return code->fixed + (dynamic + 63) / 64 * 64 + code->per_lane_group * lane_groups + 64;
}
