/* The CUDA runtime for the CPU: what its files share.

   There is one device. What is asked of it runs in the order in which it was asked for, whatever the stream, which keeps
   every order that streams and events ask for. A thread of its own runs it, or a thread that waits for it. */

#ifndef WEFT_CUDA_RUNTIME_H
#define WEFT_CUDA_RUNTIME_H

#include "api.h"
#include "host.h"

#define API __attribute__((visibility("default")))

/* errors.c: every function of the interface returns through `report`, which keeps the error for `cudaGetLastError`. */
cudaError_t report(cudaError_t error);
/* The device is broken: all that follows fails in the same way. */
void device_break(cudaError_t error);
cudaError_t device_error(void);
void device_mend(void);
/* A line at the standard error stream, under the library's name. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* memory.c */
struct block {
    char *data;
    size_t bytes;
    int kind;
    unsigned flags;
};

/* The block that an address is in; false for memory that the library does not know. */
bool block_find(const void *address, struct block *found);
/* Make known what lies elsewhere: variables of programs. */
bool block_add(char *data, size_t bytes, int kind, unsigned flags);
bool memory_is_large(void);
/* Whether no two of some addresses are in one block; unknown ones may be. */
bool blocks_are_apart(const char *const *addresses, size_t count);
cudaError_t memory_allocate(void **data, size_t bytes, int kind, unsigned flags);
cudaError_t memory_free(void *data, int kind);

/* queue.c */
struct stream {
    struct stream *next;
    unsigned flags;
    int priority;
    uint64_t id, last;
    struct graph *captured;
};

struct task {
    struct task *next;
    void (*run)(struct task *task);
    void (*drop)(struct task *task);
    /* The task in a graph that this is a run of; it stays. */
    bool is_kept;
    uint64_t number;
    size_t bytes;
    max_align_t payload[];
};

/* The stream of a handle; NULL for what is none. */
struct stream *stream_of(void *handle);
/* Zeroed memory for what is to be done; its payload is the caller's to fill in. */
struct task *task_make(size_t payload, void (*run)(struct task *task));
/* Hand over: it is done at its turn, or goes into the graph that the stream captures. */
cudaError_t task_submit(struct task *task, void *stream);
uint64_t task_enqueue(struct task *task, struct stream *stream);
void queue_wait(uint64_t number);
void queue_finish(void);
/* What has not begun is given up, as when a process ends. */
void queue_stop(void);
uint64_t queue_done(void);

/* graph.c */
struct graph *graph_make(void);
void graph_add(struct graph *graph, struct task *task);

/* modules.c */
struct parameter {
    size_t size, align;
    bool is_record;
};

struct prepared {
    struct prepared *next;
    uint32_t block[3];
    bool large, apart;
    struct known_lengths known;
    struct code code;
    cudaError_t error;
    size_t assertion_count;
    char **assertions;
};

struct function {
    struct module *module;
    const char *name;
    struct parameter *parameters;
    size_t parameter_count, shared, required[3], thread_limit, dynamic_limit, target;
    cudaError_t error;
    struct prepared *prepared;
};

struct variable {
    char *name;
    size_t offset, size;
};

struct module {
    const char *fatbin, *const *prelinked;
    pthread_mutex_t lock;
    bool loaded;
    cudaError_t error;
    /* What the compiler made of it, in its own form. */
    struct buffer blob;
    char *scope;
    size_t scope_bytes;
    struct variable *variables;
    size_t variable_count;
    struct function **functions;
    size_t function_count;
};

/* The kernel of a host function or a handle, its module read. */
cudaError_t function_find(const void *handle, struct function **found);
cudaError_t variable_find(const void *symbol, char **data, size_t *size);
/* What code is for: blocks of a size, where memory is large, where no two arguments lead to one block of memory. */
struct launch_kind {
    uint32_t block[3];
    bool large, apart;
    struct known_lengths known;
};
/* Code for launches of a kind by so many threads, whose slots tell how long rows are. */
cudaError_t function_prepare(struct function *function, struct launch_kind kind, const int64_t *slots,
                             uint64_t threads, const struct prepared **code);

/* device.c */
extern const uint32_t BLOCK_LIMIT[3], GRID_LIMIT[3];
enum { THREAD_LIMIT = 1024, SHARED_LIMIT = 48 << 10, SHARED_OPTIN = 227 << 10, WARP_THREADS = 32 };

/* What a file does in a forked process. */
void forked_reset_memory(void);
void forked_reset_modules(void);
void forked_reset_queue(void);

#endif
