/* Objects of the driver: what the handles of the interface point to, and what all files share.

   An object begins with a header, whose first word is the table of functions that loaders of drivers read. It has two
   counts: `references` are the user's, `holds` are those of other objects, and one for all references together. It is
   freed when nothing holds it. Memory of objects is used for objects of the same kind only, and the oldest first, so a
   handle that was released is recognized as long as it is not in use again. */

#ifndef WEFT_OPENCL_OBJECTS_H
#define WEFT_OPENCL_OBJECTS_H

#include "api.h"
#include "host.h"
#include "image_descriptor.h"

#include <stdatomic.h>

#define API __attribute__((visibility("default")))

enum kind {
    NOTHING, PLATFORM, DEVICE, CONTEXT, QUEUE, MEMORY, SAMPLER, PROGRAM, KERNEL, EVENT, KINDS,
};

struct object {
    void *const *dispatch;
    _Atomic uint32_t kind;
    _Atomic int32_t references;
    _Atomic int32_t holds;
    struct object *next_free;
};

struct platform {
    struct object object;
};

struct device {
    struct object object;
    struct device *parent;
    cl_uint units;
};

typedef void (*object_callback)(void *object, void *data);

/* Functions of the user's that are called when an object goes, the last one first. */
struct farewell {
    struct farewell *next;
    object_callback call;
    void *data;
};

struct context {
    struct object object;
    struct farewell *farewells;
    struct device **devices;
    cl_uint device_count;
    cl_properties *properties;
    size_t property_bytes;
    struct svm_block *svm;
};

/* A block of shared virtual memory. */
struct svm_block {
    struct svm_block *next;
    char *data;
    size_t size;
    cl_bitfield flags;
};

struct command;

struct queue {
    struct object object;
    struct context *context;
    struct device *device;
    cl_bitfield properties;
    cl_properties64 *property_list;
    size_t property_bytes;
    /* Commands that have not begun, in their order, and how many are running. */
    struct command *first, *last;
    cl_uint pending, running;
    pthread_cond_t wake;
    bool has_worker, flushed, closing;
};

struct event_callback {
    struct event_callback *next;
    void (*call)(cl_event event, cl_int status, void *data);
    cl_int status;
    void *data;
};

struct event {
    struct object object;
    struct context *context;
    /* None for events of the user's. */
    struct queue *queue;
    cl_uint type;
    _Atomic cl_int status;
    cl_ulong times[5];
    struct event_callback *callbacks;
};

/* What is to be done in a queue. */
struct command {
    struct command *next;
    struct queue *queue;
    struct event *event;
    struct event **waits;
    cl_uint wait_count;
    /* Nothing behind it begins before it is done; it begins when all before it are done. */
    bool barrier, after_all;
    cl_int (*run)(struct command *command);
    void (*drop)(struct command *command);
    /* Of `run`'s own, in the same block of memory. */
    void *payload;
    /* Kept until the command is done. */
    struct object *uses[4];
};

struct mapping {
    struct mapping *next;
    char *pointer;
    cl_uint count;
};

struct memory {
    struct object object;
    struct context *context;
    struct farewell *farewells;
    cl_uint type;
    cl_bitfield flags;
    size_t size, offset;
    char *data;
    void *host;
    /* Of a part of a buffer the buffer, of an image its buffer or image. */
    struct memory *parent;
    bool owns_data, is_svm;
    struct mapping *mappings;
    cl_uint map_count;
    cl_properties64 *property_list;
    size_t property_bytes;
    cl_image_format format;
    size_t width, height, depth, layers, element, row_pitch, slice_pitch;
    /* What kernels see of an image. */
    struct weft_image image;
};

struct sampler {
    struct object object;
    struct context *context;
    cl_uint normalized, addressing, filter;
    cl_properties64 *property_list;
    size_t property_bytes;
};

struct program {
    struct object object;
    struct context *context;
    struct farewell *farewells;
    char *source;
    /* Options, log and state of the last build. */
    char *options, *log;
    cl_int status;
    cl_uint binary_type;
    /* What the compiler made, in its own form. */
    struct buffer blob;
    struct kernel_facts *kernels;
    cl_uint kernel_count;
    /* Variables of program scope. */
    char *scope;
    size_t scope_bytes;
    /* Kernels of the user's that are made of it: it is not built again as long as there are any. */
    _Atomic cl_uint attached;
};

extern const void *const weft_dispatch[];

/* objects.c */
void *object_make(enum kind kind);
bool object_is(const void *object, enum kind kind);
void object_hold(void *object);
void object_drop(void *object);
cl_int object_retain(void *object, enum kind kind, cl_int wrong);
cl_int object_release(void *object, enum kind kind, cl_int wrong);
cl_uint object_references(const void *object);
void object_on_free(enum kind kind, void (*free)(void *object));
void farewells_call(struct farewell *list, void *object);
cl_int farewell_add(struct farewell **list, object_callback call, void *data);

/* Answers to queries: `size` bytes of room at `value`, if that is not null. */
cl_int answer(const void *data, size_t bytes, size_t size, void *value, size_t *bytes_out);
cl_int answer_text(const char *text, size_t size, void *value, size_t *bytes_out);
#define ANSWER(type, expression)                                                                                     \
    do {                                                                                                             \
        type answer_value = (expression);                                                                            \
        return answer(&answer_value, sizeof answer_value, size, value, bytes_out);                                   \
    } while (0)

/* Hand a result over where results are told by a pointer. */
#define FAIL(code)                                                                                                   \
    do {                                                                                                             \
        if (error) *error = (code);                                                                                  \
        return NULL;                                                                                                 \
    } while (0)

/* Zero-terminated lists of properties; 0 for bytes where there is no list. */
cl_int properties_copy(const cl_properties64 *list, cl_properties64 **copy, size_t *bytes);

/* platform.c */
struct platform *the_platform(void);
struct device *the_device(void);

/* context.c */
bool context_has(const struct context *context, const struct device *device);

/* schedule.c */
struct command *command_make(struct queue *queue, cl_uint type, size_t payload, cl_int (*run)(struct command *));
cl_int command_check(cl_command_queue queue, cl_uint count, const cl_event *waits);
void command_use(struct command *command, void *object);
void command_abandon(struct command *command);
cl_int command_submit(struct command *command, cl_uint count, const cl_event *waits, bool blocking, cl_event *event);
struct event *event_make(struct context *context, struct queue *queue, cl_uint type);
void queue_flush(struct queue *queue);
void queue_finish(struct queue *queue);
void queue_close(struct queue *queue);
void event_listen(struct event *event, struct event_callback *callback);
cl_int events_wait(cl_uint count, const cl_event *events);
void event_settle(struct event *event, cl_int status);

/* memory.c and images.c */
size_t image_element(const cl_image_format *format);
char *memory_allocate(size_t bytes);

/* forked.c: what a file does in a forked process, where none of the other threads are that may hold its lock. */
void forked_reset_objects(void);
void forked_reset_schedule(void);
void forked_reset_programs(void);
void forked_reset_launches(void);
void forked_reset_transfers(void);
void forked_reset_svm(void);

#endif
