/* Command queues, markers and barriers. */

#include "objects.h"

static cl_command_queue make_queue(cl_context context, cl_device_id device, cl_bitfield properties, cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (!object_is(device, DEVICE) || !context_has(context, device)) FAIL(CL_INVALID_DEVICE);
    if (properties & ~(cl_bitfield)(CL_QUEUE_OUT_OF_ORDER | CL_QUEUE_PROFILING)) FAIL(CL_INVALID_QUEUE_PROPERTIES);
    struct queue *queue = object_make(QUEUE);
    if (!queue) FAIL(CL_OUT_OF_HOST_MEMORY);
    queue->context = context;
    object_hold(context);
    queue->device = device;
    queue->properties = properties;
    pthread_cond_init(&queue->wake, NULL);
    if (error) *error = CL_SUCCESS;
    return queue;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_bitfield properties, cl_int *error) {
    if (properties & ~(cl_bitfield)3) FAIL(CL_INVALID_VALUE);
    return make_queue(context, device, properties, error);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                    const cl_properties64 *list, cl_int *error) {
    cl_bitfield properties = 0;
    for (size_t i = 0; list && list[i]; i += 2) {
        if (list[i] == CL_QUEUE_SIZE) FAIL(CL_INVALID_QUEUE_PROPERTIES);
        if (list[i] != CL_QUEUE_PROPERTIES) FAIL(CL_INVALID_VALUE);
        properties = list[i + 1];
        if (properties & ~(cl_bitfield)15) FAIL(CL_INVALID_VALUE);
    }
    cl_command_queue queue = make_queue(context, device, properties, error);
    if (queue && properties_copy(list, &queue->property_list, &queue->property_bytes)) {
        object_release(queue, QUEUE, 0);
        FAIL(CL_OUT_OF_HOST_MEMORY);
    }
    return queue;
}

cl_int clRetainCommandQueue(cl_command_queue queue) { return object_retain(queue, QUEUE, CL_INVALID_COMMAND_QUEUE); }

cl_int clReleaseCommandQueue(cl_command_queue queue) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    queue_close(queue);
    return object_release(queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    switch (name) {
    case CL_QUEUE_CONTEXT: ANSWER(cl_context, queue->context);
    case CL_QUEUE_DEVICE: ANSWER(cl_device_id, queue->device);
    case CL_QUEUE_REFERENCE_COUNT: ANSWER(cl_uint, object_references(queue));
    case CL_QUEUE_PROPERTIES: ANSWER(cl_bitfield, queue->properties);
    case CL_QUEUE_DEVICE_DEFAULT: ANSWER(cl_command_queue, NULL);
    case CL_QUEUE_PROPERTIES_ARRAY:
        return answer(queue->property_list, queue->property_bytes, size, value, bytes_out);
    case CL_QUEUE_SIZE: return CL_INVALID_COMMAND_QUEUE;
    default: return CL_INVALID_VALUE;
    }
}

cl_int clSetCommandQueueProperty(cl_command_queue queue, cl_bitfield properties, cl_bool enable, cl_bitfield *old) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (properties & ~(cl_bitfield)3) return CL_INVALID_VALUE;
    queue_finish(queue);
    if (old) *old = queue->properties;
    queue->properties = enable ? queue->properties | properties : queue->properties & ~properties;
    return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue queue) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    queue_flush(queue);
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    queue_finish(queue);
    return CL_SUCCESS;
}

/* Markers and barriers. */

static cl_int enqueue_point(cl_command_queue queue, cl_uint type, bool barrier, cl_uint count, const cl_event *waits,
                            cl_event *event) {
    cl_int wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    struct command *command = command_make(queue, type, 0, NULL);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    command->barrier = barrier;
    command->after_all = count == 0;
    return command_submit(command, count, waits, false, event);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event) {
    return enqueue_point(queue, CL_COMMAND_MARKER, false, count, waits, event);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event) {
    return enqueue_point(queue, CL_COMMAND_BARRIER, true, count, waits, event);
}

cl_int clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    return event ? enqueue_point(queue, CL_COMMAND_MARKER, false, 0, NULL, event) : CL_INVALID_VALUE;
}

cl_int clEnqueueBarrier(cl_command_queue queue) {
    return enqueue_point(queue, CL_COMMAND_BARRIER, true, 0, NULL, NULL);
}

cl_int clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *waits) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (!count || !waits) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!object_is(waits[i], EVENT)) return CL_INVALID_EVENT;
        if (waits[i]->context != queue->context) return CL_INVALID_CONTEXT;
    }
    return enqueue_point(queue, CL_COMMAND_BARRIER, true, count, waits, NULL);
}
