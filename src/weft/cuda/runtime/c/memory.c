/* Memory. The device's is the host's: an address is the same for both, and what is allocated is kept in a table. */

#include "runtime.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, PITCH_ALIGNMENT = 512 };
static const size_t LARGE = (size_t)1 << 31;

/* Sorted by address; nothing overlaps. */
static struct {
    pthread_mutex_t lock;
    struct block *list;
    size_t count, room, used, large;
} blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void forked_reset_memory(void) { pthread_mutex_init(&blocks.lock, NULL); }

/* The first block that begins behind an address. */
static size_t place(const char *address) {
    size_t low = 0, high = blocks.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks.list[middle].data <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct block *covering(const char *address) {
    size_t at = place(address);
    if (!at) return NULL;
    struct block *block = &blocks.list[at - 1];
    return (size_t)(address - block->data) < block->bytes ? block : NULL;
}

bool block_find(const void *address, struct block *found) {
    pthread_mutex_lock(&blocks.lock);
    struct block *block = covering(address);
    if (block) *found = *block;
    pthread_mutex_unlock(&blocks.lock);
    return block;
}

bool memory_is_large(void) { return blocks.large; }

bool blocks_are_apart(const char *const *addresses, size_t count) {
    bool apart = true;
    pthread_mutex_lock(&blocks.lock);
    for (size_t i = 0; i < count && apart; i++) {
        const struct block *block = covering(addresses[i]);
        for (size_t k = 0; k < i && apart; k++) apart = block && covering(addresses[k]) && block != covering(addresses[k]);
    }
    pthread_mutex_unlock(&blocks.lock);
    return apart;
}

bool block_add(char *data, size_t bytes, int kind, unsigned flags) {
    bool added = false;
    pthread_mutex_lock(&blocks.lock);
    if (blocks.count == blocks.room) {
        size_t room = blocks.room ? 2 * blocks.room : 256;
        struct block *list = realloc(blocks.list, room * sizeof *list);
        if (list) {
            blocks.list = list;
            blocks.room = room;
        }
    }
    if (blocks.count < blocks.room && !covering(data)) {
        size_t at = place(data);
        memmove(blocks.list + at + 1, blocks.list + at, (blocks.count - at) * sizeof *blocks.list);
        blocks.list[at] = (struct block){data, bytes, kind, flags};
        blocks.count++;
        blocks.used += bytes;
        blocks.large += bytes >= LARGE;
        added = true;
    }
    pthread_mutex_unlock(&blocks.lock);
    return added;
}

/* Forget a block that begins at an address. */
static bool block_take(const char *data, int kind, bool registered) {
    bool taken = false;
    pthread_mutex_lock(&blocks.lock);
    size_t at = place(data);
    if (at && blocks.list[at - 1].data == data) {
        struct block *block = &blocks.list[at - 1];
        bool fits = kind == HOST_MEMORY ? block->kind == HOST_MEMORY : block->kind != HOST_MEMORY;
        if (fits && registered == (block->flags >> 31)) {
            blocks.used -= block->bytes;
            blocks.large -= block->bytes >= LARGE;
            memmove(block, block + 1, (blocks.count - at) * sizeof *block);
            blocks.count--;
            taken = true;
        }
    }
    pthread_mutex_unlock(&blocks.lock);
    return taken;
}

/* Of a block's flags: the memory is the user's, who has registered it; it lives as long as the process. */
enum { REGISTERED = 1u << 31 };

cudaError_t memory_allocate(void **data, size_t bytes, int kind, unsigned flags) {
    if (!data) return cudaErrorInvalidValue;
    *data = NULL;
    if (!bytes) return cudaSuccess;
    if (bytes > memory_bytes() || blocks.used + bytes > memory_bytes()) return cudaErrorMemoryAllocation;
    if (posix_memalign(data, ALIGNMENT, bytes)) return cudaErrorMemoryAllocation;
    if (block_add(*data, bytes, kind, flags)) return cudaSuccess;
    free(*data);
    *data = NULL;
    return cudaErrorMemoryAllocation;
}

cudaError_t memory_free(void *data, int kind) {
    if (!data) return cudaSuccess;
    queue_finish();
    if (!block_take(data, kind, false)) return cudaErrorInvalidValue;
    free(data);
    return cudaSuccess;
}

API cudaError_t cudaMalloc(void **data, size_t bytes) {
    return report(memory_allocate(data, bytes, DEVICE_MEMORY, 0));
}

API cudaError_t cudaMallocManaged(void **data, size_t bytes, unsigned flags) {
    if (!bytes || (flags != 1 && flags != 2)) return report(cudaErrorInvalidValue);
    return report(memory_allocate(data, bytes, MANAGED_MEMORY, 0));
}

API cudaError_t cudaFree(void *data) { return report(memory_free(data, DEVICE_MEMORY)); }

API cudaError_t cudaMallocHost(void **data, size_t bytes) {
    return report(memory_allocate(data, bytes, HOST_MEMORY, 0));
}

API cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned flags) {
    if (flags & ~7u) return report(cudaErrorInvalidValue);
    return report(memory_allocate(data, bytes, HOST_MEMORY, flags));
}

API cudaError_t cudaFreeHost(void *data) { return report(memory_free(data, HOST_MEMORY)); }

API cudaError_t cudaHostRegister(void *data, size_t bytes, unsigned flags) {
    if (!data || !bytes) return report(cudaErrorInvalidValue);
    if (block_add(data, bytes, HOST_MEMORY, (flags & 7) | REGISTERED)) return report(cudaSuccess);
    return report(cudaErrorHostMemoryAlreadyRegistered);
}

API cudaError_t cudaHostUnregister(void *data) {
    queue_finish();
    return report(block_take(data, HOST_MEMORY, true) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    struct block block;
    if (!device || flags || !block_find(host, &block) || block.kind == DEVICE_MEMORY)
        return report(cudaErrorInvalidValue);
    *device = host;
    return report(cudaSuccess);
}

API cudaError_t cudaHostGetFlags(unsigned *flags, void *host) {
    struct block block;
    if (!flags || !block_find(host, &block) || block.kind != HOST_MEMORY) return report(cudaErrorInvalidValue);
    *flags = block.flags & 7;
    return report(cudaSuccess);
}

API cudaError_t cudaMallocPitch(void **data, size_t *pitch, size_t width, size_t height) {
    if (!pitch) return report(cudaErrorInvalidValue);
    *pitch = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
    return report(memory_allocate(data, *pitch * height, DEVICE_MEMORY, 0));
}

API cudaError_t cudaMalloc3D(struct pitched *made, struct extent extent) {
    if (!made) return report(cudaErrorInvalidValue);
    size_t pitch = (extent.width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
    void *data;
    cudaError_t error = memory_allocate(&data, pitch * extent.height * extent.depth, DEVICE_MEMORY, 0);
    *made = (struct pitched){data, pitch, extent.width, extent.height};
    return report(error);
}

API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    if (!free_bytes || !total) return report(cudaErrorInvalidValue);
    *total = memory_bytes();
    *free_bytes = *total - (blocks.used < *total ? blocks.used : *total);
    return report(cudaSuccess);
}

API cudaError_t cudaPointerGetAttributes(struct pointer_attributes *attributes, const void *address) {
    if (!attributes) return report(cudaErrorInvalidValue);
    struct block block;
    *attributes = (struct pointer_attributes){.type = UNREGISTERED_MEMORY, .device = -2};
    attributes->host_pointer = (void *)address;
    if (!block_find(address, &block)) return report(cudaSuccess);
    attributes->type = block.kind;
    attributes->device = 0;
    attributes->device_pointer = (void *)address;
    if (block.kind == DEVICE_MEMORY) attributes->host_pointer = NULL;
    return report(cudaSuccess);
}

/* Pools, and memory in the order of a stream. There is one pool: all memory. */

static char the_pool;

static void run_free(struct task *task) { free(*(void **)task->payload); }

API cudaError_t cudaMallocAsync(void **data, size_t bytes, void *stream) {
    if (!stream_of(stream)) return report(cudaErrorInvalidResourceHandle);
    return report(memory_allocate(data, bytes, DEVICE_MEMORY, 0));
}

API cudaError_t cudaMallocFromPoolAsync(void **data, size_t bytes, void *pool, void *stream) {
    if (pool != &the_pool) return report(cudaErrorInvalidValue);
    return cudaMallocAsync(data, bytes, stream);
}

API cudaError_t cudaFreeAsync(void *data, void *stream) {
    if (!stream_of(stream)) return report(cudaErrorInvalidResourceHandle);
    if (!data) return report(cudaSuccess);
    if (!block_take(data, DEVICE_MEMORY, false)) return report(cudaErrorInvalidValue);
    struct task *task = task_make(sizeof(void *), run_free);
    if (!task) return report(cudaErrorMemoryAllocation);
    *(void **)task->payload = data;
    return report(task_submit(task, stream));
}

static cudaError_t give_pool(void **pool) {
    if (!pool) return cudaErrorInvalidValue;
    *pool = &the_pool;
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetDefaultMemPool(void **pool, int device) {
    return report(device ? cudaErrorInvalidDevice : give_pool(pool));
}
API cudaError_t cudaDeviceGetMemPool(void **pool, int device) {
    return report(device ? cudaErrorInvalidDevice : give_pool(pool));
}
API cudaError_t cudaDeviceSetMemPool(int device, void *pool) {
    return report(device ? cudaErrorInvalidDevice : pool == &the_pool ? cudaSuccess : cudaErrorInvalidValue);
}
API cudaError_t cudaMemPoolCreate(void **pool, const void *properties) {
    return report(properties ? give_pool(pool) : cudaErrorInvalidValue);
}
API cudaError_t cudaMemPoolDestroy(void *pool) {
    return report(pool == &the_pool ? cudaSuccess : cudaErrorInvalidValue);
}
API cudaError_t cudaMemPoolTrimTo(void *pool, size_t bytes) {
    return (void)bytes, report(pool == &the_pool ? cudaSuccess : cudaErrorInvalidValue);
}
API cudaError_t cudaMemPoolSetAttribute(void *pool, int attribute, void *value) {
    return (void)attribute, report(pool == &the_pool && value ? cudaSuccess : cudaErrorInvalidValue);
}
API cudaError_t cudaMemPoolSetAccess(void *pool, const void *list, size_t count) {
    return (void)list, (void)count, report(pool == &the_pool ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaMemPoolGetAttribute(void *pool, int attribute, void *value) {
    if (pool != &the_pool || !value) return report(cudaErrorInvalidValue);
    /* The first three are switches, what follows are bytes. */
    if (attribute <= 3)
        *(int *)value = 1;
    else
        *(uint64_t *)value = attribute == 4 ? UINT64_MAX : blocks.used;
    return report(cudaSuccess);
}

/* Advice about memory that is everywhere. */

API cudaError_t cudaMemPrefetchAsync(const void *data, size_t bytes, uint64_t place, unsigned flags, void *stream) {
    struct block block;
    (void)bytes, (void)place, (void)flags;
    if (!stream_of(stream)) return report(cudaErrorInvalidResourceHandle);
    return report(block_find(data, &block) ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaMemAdvise(const void *data, size_t bytes, int advice, uint64_t place) {
    struct block block;
    (void)bytes, (void)advice, (void)place;
    return report(block_find(data, &block) ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaStreamAttachMemAsync(void *stream, void *data, size_t bytes, unsigned flags) {
    (void)data, (void)bytes, (void)flags;
    return report(stream_of(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
