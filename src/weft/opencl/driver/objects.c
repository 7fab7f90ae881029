/* Making, counting and freeing objects, and answering queries. */

#include "objects.h"

#include <stdlib.h>
#include <string.h>

/* So many freed objects of a kind wait before the first of them is used again. */
enum { QUARANTINE = 256 };

static const size_t sizes[KINDS] = {
    [PLATFORM] = sizeof(struct platform), [DEVICE] = sizeof(struct device), [CONTEXT] = sizeof(struct context),
    [QUEUE] = sizeof(struct queue), [MEMORY] = sizeof(struct memory), [SAMPLER] = sizeof(struct sampler),
    [PROGRAM] = sizeof(struct program), [EVENT] = sizeof(struct event),
};

static struct {
    struct object *oldest, *newest;
    size_t count;
    void (*free)(void *object);
} freed[KINDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

size_t kernel_bytes(void);

void forked_reset_objects(void) {
    pthread_mutex_init(&lock, NULL);
    for (size_t kind = 0; kind < KINDS; kind++) {
        freed[kind].oldest = freed[kind].newest = NULL;
        freed[kind].count = 0;
    }
}

void object_on_free(enum kind kind, void (*free)(void *object)) { freed[kind].free = free; }

static struct object *taken(enum kind kind, size_t bytes) {
    struct object *object = NULL;
    pthread_mutex_lock(&lock);
    if (freed[kind].count > QUARANTINE) {
        object = freed[kind].oldest;
        freed[kind].oldest = object->next_free;
        freed[kind].count--;
    }
    pthread_mutex_unlock(&lock);
    if (object)
        memset(object, 0, bytes);
    else
        object = calloc(1, bytes);
    return object;
}

void *object_make(enum kind kind) {
    struct object *object = taken(kind, kind == KERNEL ? kernel_bytes() : sizes[kind]);
    if (!object) return NULL;
    object->dispatch = (void *const *)weft_dispatch;
    object->kind = kind;
    object->references = 1;
    object->holds = 1;
    return object;
}

bool object_is(const void *object, enum kind kind) {
    const struct object *header = object;
    return header && header->dispatch == (void *const *)weft_dispatch && header->kind == kind;
}

void object_hold(void *object) { ((struct object *)object)->holds++; }

void object_drop(void *object) {
    struct object *header = object;
    if (!header || atomic_fetch_sub(&header->holds, 1) != 1) return;
    enum kind kind = header->kind;
    header->kind = NOTHING;
    if (freed[kind].free) freed[kind].free(object);
    pthread_mutex_lock(&lock);
    header->next_free = NULL;
    if (freed[kind].count++)
        freed[kind].newest->next_free = header;
    else
        freed[kind].oldest = header;
    freed[kind].newest = header;
    pthread_mutex_unlock(&lock);
}

/* Counted only as long as there is a reference: another thread may be giving back the last one. */
static bool counted(struct object *header, int change) {
    int32_t count = header->references;
    while (count > 0)
        if (atomic_compare_exchange_weak(&header->references, &count, count + change)) return true;
    return false;
}

cl_int object_retain(void *object, enum kind kind, cl_int wrong) {
    return object_is(object, kind) && counted(object, 1) ? CL_SUCCESS : wrong;
}

cl_int object_release(void *object, enum kind kind, cl_int wrong) {
    struct object *header = object;
    if (!object_is(object, kind)) return wrong;
    int32_t count = header->references;
    do {
        if (count <= 0) return wrong;
    } while (!atomic_compare_exchange_weak(&header->references, &count, count - 1));
    if (count == 1) object_drop(object);
    return CL_SUCCESS;
}

cl_uint object_references(const void *object) { return (cl_uint)((const struct object *)object)->references; }

cl_int farewell_add(struct farewell **list, object_callback call, void *data) {
    struct farewell *farewell = malloc(sizeof *farewell);
    if (!farewell) return CL_OUT_OF_HOST_MEMORY;
    pthread_mutex_lock(&lock);
    *farewell = (struct farewell){*list, call, data};
    *list = farewell;
    pthread_mutex_unlock(&lock);
    return CL_SUCCESS;
}

void farewells_call(struct farewell *list, void *object) {
    while (list) {
        struct farewell *next = list->next;
        list->call(object, list->data);
        free(list);
        list = next;
    }
}

cl_int answer(const void *data, size_t bytes, size_t size, void *value, size_t *bytes_out) {
    if (value && size < bytes) return CL_INVALID_VALUE;
    if (value && bytes) memcpy(value, data, bytes);
    if (bytes_out) *bytes_out = bytes;
    return CL_SUCCESS;
}

cl_int answer_text(const char *text, size_t size, void *value, size_t *bytes_out) {
    if (!text) text = "";
    return answer(text, strlen(text) + 1, size, value, bytes_out);
}

cl_int properties_copy(const cl_properties64 *list, cl_properties64 **copy, size_t *bytes) {
    *copy = NULL;
    *bytes = 0;
    if (!list) return CL_SUCCESS;
    size_t count = 0;
    while (list[count]) count += 2;
    *bytes = (count + 1) * sizeof *list;
    *copy = malloc(*bytes);
    if (!*copy) return CL_OUT_OF_HOST_MEMORY;
    memcpy(*copy, list, *bytes);
    return CL_SUCCESS;
}
