/* Queues and events: which command runs next, and on which thread.

   One lock guards all queues. A command begins when the events it waits for are done and, in a queue in order, those
   before it. A thread that waits for a queue runs the queue's commands itself, so a short kernel takes no change of
   thread; a queue that was flushed has a thread of its own besides. A command runs without the lock. */

#include "objects.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Told whenever a command is done, if anybody waits for one. */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static cl_uint watchers;

void forked_reset_schedule(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&changed, NULL);
    watchers = 0;
}

/* A queue with so many commands that nobody has asked for begins to run them. */
enum { BACKLOG = 32 };

struct event *event_make(struct context *context, struct queue *queue, cl_uint type) {
    struct event *event = object_make(EVENT);
    if (!event) return NULL;
    event->context = context;
    object_hold(context);
    event->queue = queue;
    if (queue) object_hold(queue);
    event->type = type;
    event->status = queue ? CL_QUEUED : CL_SUBMITTED;
    event->times[0] = now();
    return event;
}

/* Calls the user's functions that wait for a status; without the lock, as they may call the driver. */
static void tell(struct event *event, cl_int status) {
    pthread_mutex_lock(&lock);
    struct event_callback *called = NULL, **end = &called, **from = &event->callbacks;
    while (*from) {
        struct event_callback *callback = *from;
        if (callback->status >= status) {
            *from = callback->next;
            callback->next = NULL;
            *end = callback;
            end = &callback->next;
        } else
            from = &callback->next;
    }
    pthread_mutex_unlock(&lock);
    while (called) {
        struct event_callback *next = called->next;
        called->call(event, status < 0 ? status : called->status, called->data);
        free(called);
        called = next;
    }
}

void event_settle(struct event *event, cl_int status) {
    pthread_mutex_lock(&lock);
    event->status = status;
    if (watchers) pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (event->callbacks) tell(event, status);
}

struct command *command_make(struct queue *queue, cl_uint type, size_t payload, cl_int (*run)(struct command *)) {
    struct command *command = calloc(1, sizeof *command + payload);
    struct event *event = command ? event_make(queue->context, queue, type) : NULL;
    if (!event) {
        free(command);
        return NULL;
    }
    command->queue = queue;
    command->event = event;
    object_hold(event);
    command->run = run;
    command->payload = command + 1;
    return command;
}

void command_use(struct command *command, void *object) {
    object_hold(object);
    for (size_t i = 0;; i++)
        if (!command->uses[i]) {
            command->uses[i] = object;
            return;
        }
}

static void command_free(struct command *command) {
    if (command->drop) command->drop(command);
    for (size_t i = 0; i < sizeof command->uses / sizeof *command->uses; i++) object_drop(command->uses[i]);
    for (cl_uint i = 0; i < command->wait_count; i++) object_drop(command->waits[i]);
    free(command->waits);
    object_drop(command->event);
    free(command);
}

void command_abandon(struct command *command) {
    object_release(command->event, EVENT, CL_INVALID_EVENT);
    command_free(command);
}

cl_int command_check(cl_command_queue queue, cl_uint count, const cl_event *waits) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if ((count == 0) != (waits == NULL)) return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < count; i++) {
        if (!object_is(waits[i], EVENT)) return CL_INVALID_EVENT_WAIT_LIST;
        if (waits[i]->context != queue->context) return CL_INVALID_CONTEXT;
    }
    return CL_SUCCESS;
}

/* CL_COMPLETE or an error if all that the command waits for is done, else more. */
static cl_int waits_status(const struct command *command) {
    cl_int worst = CL_COMPLETE;
    for (cl_uint i = 0; i < command->wait_count; i++) {
        cl_int status = command->waits[i]->status;
        if (status > CL_COMPLETE) return status;
        if (status < 0) worst = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    return worst;
}

static void awaken(struct queue *queue);

/* The place of a command that may begin; null if there is none. Under the lock. */
static struct command **next_ready(struct queue *queue) {
    bool in_order = !(queue->properties & CL_QUEUE_OUT_OF_ORDER);
    bool all_done = queue->running == 0;
    for (struct command **at = &queue->first; *at; at = &(*at)->next) {
        struct command *command = *at;
        if (in_order && !all_done) return NULL;
        if (waits_status(command) <= CL_COMPLETE && (all_done || !command->after_all)) return at;
        for (cl_uint i = 0; i < command->wait_count; i++) {
            struct event *event = command->waits[i];
            if (event->status > CL_COMPLETE && event->queue && event->queue != queue) awaken(event->queue);
        }
        if (in_order || command->barrier) return NULL;
        all_done = false;
    }
    return NULL;
}

static void take(struct queue *queue, struct command **at) {
    struct command *command = *at;
    *at = command->next;
    if (command == queue->last) {
        queue->last = NULL;
        for (struct command *each = queue->first; each; each = each->next) queue->last = each;
    }
    command->next = NULL;
    queue->pending--;
    queue->running++;
}

/* Runs a command that was taken. Under the lock, but not in between. */
static void perform(struct command *command) {
    struct queue *queue = command->queue;
    struct event *event = command->event;
    cl_int status = waits_status(command);
    event->times[1] = event->times[2] = now();
    if (!event->times[0]) event->times[0] = event->times[1];
    event->status = CL_RUNNING;
    bool heard = event->callbacks;
    if (command->run || heard) {
        pthread_mutex_unlock(&lock);
        if (heard) {
            tell(event, CL_SUBMITTED);
            tell(event, CL_RUNNING);
        }
        if (status == CL_COMPLETE && command->run) status = command->run(command);
        pthread_mutex_lock(&lock);
    }
    event->times[3] = event->times[4] = now();
    event->status = status;
    queue->running--;
    if (watchers) pthread_cond_broadcast(&changed);
    heard = event->callbacks;
    pthread_mutex_unlock(&lock);
    if (heard) tell(event, status);
    command_free(command);
    object_drop(queue);
    pthread_mutex_lock(&lock);
}

/* Runs commands of a queue until none may begin or an event is done. Under the lock, but not in between. */
static bool help(struct queue *queue, const struct event *until) {
    bool any = false;
    while (!until || until->status > CL_COMPLETE) {
        struct command **at = next_ready(queue);
        if (!at) break;
        struct command *command = *at;
        take(queue, at);
        perform(command);
        any = true;
    }
    return any;
}

static void watch(void) {
    watchers++;
    pthread_cond_wait(&changed, &lock);
    watchers--;
}

static void *work(void *argument) {
    struct queue *queue = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        if (queue->flushed && queue->first) {
            if (!help(queue, NULL) && queue->first) watch();
            continue;
        }
        queue->flushed = false;
        if (queue->closing && !queue->first) break;
        pthread_cond_wait(&queue->wake, &lock);
    }
    pthread_mutex_unlock(&lock);
    object_drop(queue);
    return NULL;
}

/* Lets the queue's own thread run what is in it. Under the lock. */
static void awaken(struct queue *queue) {
    if (queue->flushed || !queue->first) return;
    queue->flushed = true;
    if (!queue->has_worker) {
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        object_hold(queue);
        if (pthread_create(&thread, &attributes, work, queue) == 0)
            queue->has_worker = true;
        else
            object_drop(queue);
        pthread_attr_destroy(&attributes);
    }
    pthread_cond_signal(&queue->wake);
}

cl_int command_submit(struct command *command, cl_uint count, const cl_event *waits, bool blocking, cl_event *event) {
    struct queue *queue = command->queue;
    if (count) {
        command->waits = malloc(count * sizeof *waits);
        if (!command->waits) {
            command_abandon(command);
            return CL_OUT_OF_HOST_MEMORY;
        }
        command->wait_count = count;
        memcpy(command->waits, waits, count * sizeof *waits);
        for (cl_uint i = 0; i < count; i++) object_hold(waits[i]);
    }
    struct event *made = command->event;
    object_hold(queue);
    object_hold(made);
    pthread_mutex_lock(&lock);
    if (queue->last)
        queue->last->next = command;
    else
        queue->first = command;
    queue->last = command;
    if (++queue->pending >= BACKLOG) awaken(queue);
    if (queue->flushed) pthread_cond_signal(&queue->wake);
    if (watchers && queue->flushed) pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    cl_int status = CL_SUCCESS;
    if (blocking && events_wait(1, &made) != CL_SUCCESS) status = made->status;
    /* The command has a hold of its own; without a reference the event goes with it. */
    if (event)
        *event = made;
    else
        object_release(made, EVENT, CL_INVALID_EVENT);
    object_drop(made);
    return status;
}

void queue_flush(struct queue *queue) {
    pthread_mutex_lock(&lock);
    awaken(queue);
    pthread_mutex_unlock(&lock);
}

void queue_finish(struct queue *queue) {
    pthread_mutex_lock(&lock);
    while (queue->first || queue->running)
        if (!help(queue, NULL) && (queue->first || queue->running)) watch();
    pthread_mutex_unlock(&lock);
}

cl_int events_wait(cl_uint count, const cl_event *events) {
    cl_int result = CL_SUCCESS;
    pthread_mutex_lock(&lock);
    for (cl_uint i = 1; i < count; i++)
        if (events[i]->queue) awaken(events[i]->queue);
    for (cl_uint i = 0; i < count; i++) {
        struct event *event = events[i];
        while (event->status > CL_COMPLETE)
            if (!(event->queue && help(event->queue, event)) && event->status > CL_COMPLETE) watch();
        if (event->status < 0) result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

void queue_close(struct queue *queue) {
    pthread_mutex_lock(&lock);
    awaken(queue);
    if (object_references(queue) == 1) {
        queue->closing = true;
        if (queue->has_worker) pthread_cond_signal(&queue->wake);
    }
    pthread_mutex_unlock(&lock);
}

void event_listen(struct event *event, struct event_callback *callback) {
    pthread_mutex_lock(&lock);
    callback->next = event->callbacks;
    event->callbacks = callback;
    cl_int reached = event->status;
    pthread_mutex_unlock(&lock);
    if (reached <= callback->status) tell(event, reached);
}

static void queue_free(void *object) {
    struct queue *queue = object;
    free(queue->property_list);
    pthread_cond_destroy(&queue->wake);
    object_drop(queue->context);
}

static void event_free(void *object) {
    struct event *event = object;
    while (event->callbacks) {
        struct event_callback *next = event->callbacks->next;
        free(event->callbacks);
        event->callbacks = next;
    }
    object_drop(event->queue);
    object_drop(event->context);
}

__attribute__((constructor)) static void prepare(void) {
    object_on_free(QUEUE, queue_free);
    object_on_free(EVENT, event_free);
}
