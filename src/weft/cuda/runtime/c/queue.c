/* What the device is to do, in the order in which it was asked for; streams and events.

   Whoever waits runs what is queued; besides there is a thread that does so when nobody waits. One task runs at a time,
   and kernels run on all cores. */

#include "runtime.h"

#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *first, *last;
    uint64_t submitted, done;
    bool running, has_worker;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct stream legacy_stream, thread_stream = {.id = 1};

static struct {
    pthread_mutex_t lock;
    struct stream *first;
    uint64_t count;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = 2};

void forked_reset_queue(void) {
    pthread_mutex_init(&queue.lock, NULL);
    pthread_cond_init(&queue.changed, NULL);
    pthread_mutex_init(&streams.lock, NULL);
    queue.first = queue.last = NULL;
    queue.done = queue.submitted;
    queue.running = queue.has_worker = false;
}

struct task *task_make(size_t payload, void (*run)(struct task *task)) {
    struct task *task = calloc(1, sizeof *task + payload);
    if (task) {
        task->run = run;
        task->bytes = payload;
    }
    return task;
}

/* Runs the next task; the lock is held, but not meanwhile. */
static void run_next(void) {
    struct task *task = queue.first;
    queue.first = task->next;
    if (!queue.first) queue.last = NULL;
    queue.running = true;
    uint64_t number = task->number;
    pthread_mutex_unlock(&queue.lock);
    if (!device_error()) task->run(task);
    if (task->drop) task->drop(task);
    free(task);
    pthread_mutex_lock(&queue.lock);
    queue.running = false;
    queue.done = number;
    pthread_cond_broadcast(&queue.changed);
}

static void *work(void *nothing) {
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        if (queue.first && !queue.running)
            run_next();
        else
            pthread_cond_wait(&queue.changed, &queue.lock);
    }
    return nothing;
}

uint64_t task_enqueue(struct task *task, struct stream *stream) {
    pthread_mutex_lock(&queue.lock);
    uint64_t number = task->number = ++queue.submitted;
    if (stream) stream->last = number;
    if (queue.last)
        queue.last->next = task;
    else
        queue.first = task;
    queue.last = task;
    if (!queue.has_worker) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_t thread;
        queue.has_worker = !pthread_create(&thread, &attributes, work, NULL);
        pthread_attr_destroy(&attributes);
    }
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return number;
}

cudaError_t task_submit(struct task *task, void *handle) {
    struct stream *stream = stream_of(handle);
    if (stream && stream->captured)
        graph_add(stream->captured, task);
    else
        task_enqueue(task, stream);
    return cudaSuccess;
}

void queue_wait(uint64_t number) {
    pthread_mutex_lock(&queue.lock);
    while (queue.done < number) {
        if (queue.first && !queue.running)
            run_next();
        else
            pthread_cond_wait(&queue.changed, &queue.lock);
    }
    pthread_mutex_unlock(&queue.lock);
}

void queue_finish(void) { queue_wait(queue.submitted); }

uint64_t queue_done(void) {
    pthread_mutex_lock(&queue.lock);
    uint64_t done = queue.done;
    pthread_mutex_unlock(&queue.lock);
    return done;
}

void queue_stop(void) {
    pthread_mutex_lock(&queue.lock);
    while (queue.first) {
        struct task *task = queue.first;
        queue.first = task->next;
        queue.done = task->number;
        if (task->drop) task->drop(task);
        free(task);
    }
    queue.last = NULL;
    while (queue.running) pthread_cond_wait(&queue.changed, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

/* Streams. */

struct stream *stream_of(void *handle) {
    if (handle == NULL || handle == (void *)1) return &legacy_stream;
    if (handle == (void *)2) return &thread_stream;
    pthread_mutex_lock(&streams.lock);
    struct stream *stream = streams.first;
    while (stream && stream != handle) stream = stream->next;
    pthread_mutex_unlock(&streams.lock);
    return stream;
}

API cudaError_t cudaStreamCreateWithPriority(void **made, unsigned flags, int priority) {
    if (!made || flags & ~(unsigned)STREAM_NON_BLOCKING) return report(cudaErrorInvalidValue);
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream) return report(cudaErrorMemoryAllocation);
    pthread_mutex_lock(&streams.lock);
    *stream = (struct stream){streams.first, flags, priority, streams.count++, 0, NULL};
    streams.first = stream;
    pthread_mutex_unlock(&streams.lock);
    *made = stream;
    return report(cudaSuccess);
}

API cudaError_t cudaStreamCreateWithFlags(void **made, unsigned flags) {
    return cudaStreamCreateWithPriority(made, flags, 0);
}

API cudaError_t cudaStreamCreate(void **made) { return cudaStreamCreateWithPriority(made, 0, 0); }

API cudaError_t cudaStreamDestroy(void *handle) {
    struct stream *stream = stream_of(handle);
    if (!stream || stream == &legacy_stream || stream == &thread_stream) return report(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&streams.lock);
    struct stream **at = &streams.first;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&streams.lock);
    free(stream);
    return report(cudaSuccess);
}

API cudaError_t cudaStreamSynchronize(void *handle) {
    struct stream *stream = stream_of(handle);
    if (!stream) return report(cudaErrorInvalidResourceHandle);
    if (stream->captured) return report(cudaErrorStreamCaptureUnsupported);
    /* The default stream waits for all that are not made to be apart; nothing is lost by waiting for those as well. */
    if (stream == &legacy_stream)
        queue_finish();
    else
        queue_wait(stream->last);
    return report(cudaSuccess);
}

API cudaError_t cudaStreamQuery(void *handle) {
    struct stream *stream = stream_of(handle);
    if (!stream) return report(cudaErrorInvalidResourceHandle);
    uint64_t last = stream == &legacy_stream ? queue.submitted : stream->last;
    return report(queue_done() >= last ? cudaSuccess : cudaErrorNotReady);
}

API cudaError_t cudaStreamGetFlags(void *handle, unsigned *flags) {
    struct stream *stream = stream_of(handle);
    if (!stream || !flags) return report(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *flags = stream->flags;
    return report(cudaSuccess);
}

API cudaError_t cudaStreamGetPriority(void *handle, int *priority) {
    struct stream *stream = stream_of(handle);
    if (!stream || !priority) return report(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *priority = stream->priority;
    return report(cudaSuccess);
}

API cudaError_t cudaStreamGetId(void *handle, unsigned long long *id) {
    struct stream *stream = stream_of(handle);
    if (!stream || !id) return report(stream ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *id = stream->id;
    return report(cudaSuccess);
}

API cudaError_t cudaStreamGetDevice(void *handle, int *device) {
    if (!stream_of(handle) || !device) return report(cudaErrorInvalidValue);
    *device = 0;
    return report(cudaSuccess);
}

API cudaError_t cudaStreamSetAttribute(void *handle, int attribute, const void *value) {
    (void)attribute;
    return report(stream_of(handle) && value ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaStreamCopyAttributes(void *to, void *from) {
    return report(stream_of(to) && stream_of(from) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = 0;
    return report(cudaSuccess);
}

API cudaError_t cudaDeviceSynchronize(void) {
    queue_finish();
    return report(cudaSuccess);
}

/* Functions of the host in a stream. */

struct host_call {
    void (*call)(void *data);
    void (*callback)(void *stream, cudaError_t status, void *data);
    void *data, *stream;
};

static void run_host_call(struct task *task) {
    struct host_call *call = (struct host_call *)task->payload;
    if (call->call)
        call->call(call->data);
    else
        call->callback(call->stream, cudaSuccess, call->data);
}

static cudaError_t submit_host_call(struct host_call call) {
    if (!stream_of(call.stream)) return cudaErrorInvalidResourceHandle;
    struct task *task = task_make(sizeof call, run_host_call);
    if (!task) return cudaErrorMemoryAllocation;
    memcpy(task->payload, &call, sizeof call);
    return task_submit(task, call.stream);
}

API cudaError_t cudaLaunchHostFunc(void *stream, void (*call)(void *), void *data) {
    if (!call) return report(cudaErrorInvalidValue);
    return report(submit_host_call((struct host_call){.call = call, .data = data, .stream = stream}));
}

API cudaError_t cudaLaunchHostFunc_v2(void *stream, void (*call)(void *), void *data, unsigned mode) {
    (void)mode;
    return cudaLaunchHostFunc(stream, call, data);
}

API cudaError_t cudaStreamAddCallback(void *stream, void (*callback)(void *, cudaError_t, void *), void *data,
                                      unsigned flags) {
    if (!callback || flags) return report(cudaErrorInvalidValue);
    return report(submit_host_call((struct host_call){.callback = callback, .data = data, .stream = stream}));
}

/* Events. An event is held by the user and by each task that records it. */

struct event {
    unsigned flags;
    _Atomic uint32_t holds;
    /* The latest recording; none is 0. */
    uint64_t number;
    _Atomic uint64_t time;
    struct graph *captured;
};

static void event_drop(struct event *event) {
    if (--event->holds == 0) free(event);
}

static void run_record(struct task *task) { (*(struct event **)task->payload)->time = now(); }
static void drop_record(struct task *task) { event_drop(*(struct event **)task->payload); }

API cudaError_t cudaEventCreateWithFlags(struct event **made, unsigned flags) {
    if (!made || flags & ~7u || (flags & EVENT_INTERPROCESS)) return report(cudaErrorInvalidValue);
    *made = calloc(1, sizeof **made);
    if (!*made) return report(cudaErrorMemoryAllocation);
    (*made)->flags = flags;
    (*made)->holds = 1;
    return report(cudaSuccess);
}

API cudaError_t cudaEventCreate(struct event **made) { return cudaEventCreateWithFlags(made, 0); }

API cudaError_t cudaEventDestroy(struct event *event) {
    if (!event) return report(cudaErrorInvalidResourceHandle);
    event_drop(event);
    return report(cudaSuccess);
}

API cudaError_t cudaEventRecord(struct event *event, void *handle) {
    struct stream *stream = stream_of(handle);
    if (!event || !stream) return report(cudaErrorInvalidResourceHandle);
    event->captured = stream->captured;
    if (stream->captured) return report(cudaSuccess);
    struct task *task = task_make(sizeof event, run_record);
    if (!task) return report(cudaErrorMemoryAllocation);
    memcpy(task->payload, &event, sizeof event);
    task->drop = drop_record;
    event->holds++;
    event->number = task_enqueue(task, stream);
    return report(cudaSuccess);
}

API cudaError_t cudaEventRecordWithFlags(struct event *event, void *stream, unsigned flags) {
    if (flags > 1) return report(cudaErrorInvalidValue);
    return cudaEventRecord(event, stream);
}

API cudaError_t cudaEventQuery(struct event *event) {
    if (!event) return report(cudaErrorInvalidResourceHandle);
    return report(queue_done() >= event->number ? cudaSuccess : cudaErrorNotReady);
}

API cudaError_t cudaEventSynchronize(struct event *event) {
    if (!event) return report(cudaErrorInvalidResourceHandle);
    queue_wait(event->number);
    return report(cudaSuccess);
}

API cudaError_t cudaEventElapsedTime(float *milliseconds, struct event *begin, struct event *end) {
    if (!milliseconds) return report(cudaErrorInvalidValue);
    if (!begin || !end || !begin->number || !end->number || (begin->flags | end->flags) & EVENT_NO_TIMING)
        return report(cudaErrorInvalidResourceHandle);
    uint64_t done = queue_done();
    if (done < begin->number || done < end->number) return report(cudaErrorNotReady);
    *milliseconds = (float)((double)(int64_t)(end->time - begin->time) / 1e6);
    return report(cudaSuccess);
}

/* All that was asked for before is done before what is asked for from now on. */
API cudaError_t cudaStreamWaitEvent(void *handle, struct event *event, unsigned flags) {
    struct stream *stream = stream_of(handle);
    if (!stream || !event) return report(cudaErrorInvalidResourceHandle);
    if (flags > 1) return report(cudaErrorInvalidValue);
    /* A stream that waits for one that is captured is captured with it. */
    if (event->captured && !stream->captured) stream->captured = event->captured;
    return report(cudaSuccess);
}

/* Capturing: what is asked of a stream goes into a graph. */

static void end_capture(const struct graph *graph) {
    pthread_mutex_lock(&streams.lock);
    for (struct stream *stream = streams.first; stream; stream = stream->next)
        if (stream->captured == graph) stream->captured = NULL;
    pthread_mutex_unlock(&streams.lock);
    if (thread_stream.captured == graph) thread_stream.captured = NULL;
}

API cudaError_t cudaStreamBeginCapture(void *handle, int mode) {
    struct stream *stream = stream_of(handle);
    (void)mode;
    if (!stream) return report(cudaErrorInvalidResourceHandle);
    if (stream == &legacy_stream) return report(cudaErrorStreamCaptureUnsupported);
    if (stream->captured) return report(cudaErrorInvalidValue);
    stream->captured = graph_make();
    return report(stream->captured ? cudaSuccess : cudaErrorMemoryAllocation);
}

API cudaError_t cudaStreamEndCapture(void *handle, struct graph **graph) {
    struct stream *stream = stream_of(handle);
    if (!stream || !graph) return report(cudaErrorInvalidValue);
    if (!stream->captured) return report(cudaErrorStreamCaptureUnmatched);
    *graph = stream->captured;
    end_capture(*graph);
    return report(cudaSuccess);
}

API cudaError_t cudaStreamIsCapturing(void *handle, int *status) {
    struct stream *stream = stream_of(handle);
    if (!stream || !status) return report(cudaErrorInvalidValue);
    *status = stream->captured != NULL;
    return report(cudaSuccess);
}

API cudaError_t cudaStreamGetCaptureInfo(void *handle, int *status, unsigned long long *id, struct graph **graph,
                                         const void **dependencies, const void **edges, size_t *count) {
    struct stream *stream = stream_of(handle);
    if (!stream || !status) return report(cudaErrorInvalidValue);
    *status = stream->captured != NULL;
    if (id) *id = stream->id;
    if (graph) *graph = stream->captured;
    if (dependencies) *dependencies = NULL;
    if (edges) *edges = NULL;
    if (count) *count = 0;
    return report(cudaSuccess);
}

API cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode) {
    return report(mode ? cudaSuccess : cudaErrorInvalidValue);
}
