/* Events: waiting for them, asking them, and those that the user settles. */

#include "objects.h"

#include <stdlib.h>

cl_int clWaitForEvents(cl_uint count, const cl_event *events) {
    if (!count || !events) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!object_is(events[i], EVENT)) return CL_INVALID_EVENT;
        if (events[i]->context != events[0]->context) return CL_INVALID_CONTEXT;
    }
    return events_wait(count, events);
}

cl_int clGetEventInfo(cl_event event, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(event, EVENT)) return CL_INVALID_EVENT;
    switch (name) {
    case CL_EVENT_COMMAND_QUEUE: ANSWER(cl_command_queue, event->queue);
    case CL_EVENT_COMMAND_TYPE: ANSWER(cl_uint, event->type);
    case CL_EVENT_REFERENCE_COUNT: ANSWER(cl_uint, object_references(event));
    case CL_EVENT_COMMAND_EXECUTION_STATUS: ANSWER(cl_int, event->status);
    case CL_EVENT_CONTEXT: ANSWER(cl_context, event->context);
    default: return CL_INVALID_VALUE;
    }
}

cl_int clRetainEvent(cl_event event) { return object_retain(event, EVENT, CL_INVALID_EVENT); }
cl_int clReleaseEvent(cl_event event) { return object_release(event, EVENT, CL_INVALID_EVENT); }

cl_int clGetEventProfilingInfo(cl_event event, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(event, EVENT)) return CL_INVALID_EVENT;
    if (!event->queue || !(event->queue->properties & CL_QUEUE_PROFILING) || event->status != CL_COMPLETE)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (name < CL_PROFILING_QUEUED || name > CL_PROFILING_COMPLETE) return CL_INVALID_VALUE;
    ANSWER(cl_ulong, event->times[name - CL_PROFILING_QUEUED]);
}

cl_event clCreateUserEvent(cl_context context, cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    struct event *event = event_make(context, NULL, CL_COMMAND_USER);
    if (!event) FAIL(CL_OUT_OF_HOST_MEMORY);
    if (error) *error = CL_SUCCESS;
    return event;
}

cl_int clSetUserEventStatus(cl_event event, cl_int status) {
    if (!object_is(event, EVENT) || event->queue) return CL_INVALID_EVENT;
    if (status > CL_COMPLETE) return CL_INVALID_VALUE;
    object_hold(event);
    cl_int before = CL_SUBMITTED;
    if (!atomic_compare_exchange_strong(&event->status, &before, status)) {
        object_drop(event);
        return CL_INVALID_OPERATION;
    }
    event_settle(event, status);
    object_drop(event);
    return CL_SUCCESS;
}

cl_int clSetEventCallback(cl_event event, cl_int status, void (*call)(cl_event, cl_int, void *), void *data) {
    if (!object_is(event, EVENT)) return CL_INVALID_EVENT;
    if (!call || status < CL_COMPLETE || status > CL_SUBMITTED) return CL_INVALID_VALUE;
    struct event_callback *callback = malloc(sizeof *callback);
    if (!callback) return CL_OUT_OF_HOST_MEMORY;
    *callback = (struct event_callback){NULL, call, status, data};
    event_listen(event, callback);
    return CL_SUCCESS;
}
