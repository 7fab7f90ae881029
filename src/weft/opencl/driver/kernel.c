/* Kernels and their arguments. */

#include "compiler.h"

#include <stdlib.h>
#include <string.h>

size_t kernel_bytes(void);
size_t kernel_bytes(void) { return sizeof(struct kernel); }

extern const size_t weft_group_limit;

static struct kernel *kernel_make(struct program *program, struct kernel_facts *facts) {
    struct kernel *kernel = object_make(KERNEL);
    if (!kernel) return NULL;
    kernel->context = program->context;
    kernel->program = program;
    object_hold(program);
    program->attached++;
    kernel->facts = facts;
    kernel->arguments = calloc(facts->argument_count + 1, sizeof *kernel->arguments);
    for (cl_uint i = 0; kernel->arguments && i < facts->argument_count; i++) {
        size_t room = facts->arguments[i].size;
        kernel->arguments[i].value = calloc(1, room ? room : 1);
        if (!kernel->arguments[i].value) break;
        if (i + 1 == facts->argument_count) return kernel;
    }
    if (kernel->arguments && !facts->argument_count) return kernel;
    object_release(kernel, KERNEL, 0);
    return NULL;
}

static void kernel_free(void *object) {
    struct kernel *kernel = object;
    for (cl_uint i = 0; kernel->arguments && i < kernel->facts->argument_count; i++) free(kernel->arguments[i].value);
    free(kernel->arguments);
    kernel->program->attached--;
    object_drop(kernel->program);
}

__attribute__((constructor)) static void prepare(void) { object_on_free(KERNEL, kernel_free); }

static bool executable(const struct program *program) {
    return program->status == CL_BUILD_SUCCESS && program->binary_type == CL_BINARY_EXECUTABLE;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error) {
    if (!object_is(program, PROGRAM)) FAIL(CL_INVALID_PROGRAM);
    if (!name) FAIL(CL_INVALID_VALUE);
    if (!executable(program)) FAIL(CL_INVALID_PROGRAM_EXECUTABLE);
    for (cl_uint i = 0; i < program->kernel_count; i++) {
        if (strcmp(program->kernels[i].name, name)) continue;
        struct kernel *kernel = kernel_make(program, &program->kernels[i]);
        if (error) *error = kernel ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
        return kernel;
    }
    FAIL(CL_INVALID_KERNEL_NAME);
}

cl_int clCreateKernelsInProgram(cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    if (!executable(program)) return CL_INVALID_PROGRAM_EXECUTABLE;
    if (kernels && room < program->kernel_count) return CL_INVALID_VALUE;
    for (cl_uint i = 0; kernels && i < program->kernel_count; i++) {
        kernels[i] = kernel_make(program, &program->kernels[i]);
        if (kernels[i]) continue;
        while (i--) object_release(kernels[i], KERNEL, 0);
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (count) *count = program->kernel_count;
    return CL_SUCCESS;
}

cl_kernel clCloneKernel(cl_kernel source, cl_int *error) {
    if (!object_is(source, KERNEL)) FAIL(CL_INVALID_KERNEL);
    struct kernel *kernel = kernel_make(source->program, source->facts);
    if (!kernel) FAIL(CL_OUT_OF_HOST_MEMORY);
    for (cl_uint i = 0; i < source->facts->argument_count; i++) {
        char *value = kernel->arguments[i].value;
        memcpy(value, source->arguments[i].value, source->facts->arguments[i].size);
        kernel->arguments[i] = source->arguments[i];
        kernel->arguments[i].value = value;
    }
    if (error) *error = CL_SUCCESS;
    return kernel;
}

cl_int clRetainKernel(cl_kernel kernel) { return object_retain(kernel, KERNEL, CL_INVALID_KERNEL); }
cl_int clReleaseKernel(cl_kernel kernel) { return object_release(kernel, KERNEL, CL_INVALID_KERNEL); }

bool memory_fits(const struct memory *memory, enum passing passing, const struct context *context) {
    return object_is(memory, MEMORY) && memory->context == context &&
           (memory->type == CL_MEM_OBJECT_BUFFER) == (passing == PASS_BUFFER);
}

/* Whether kernels may not access an image as the argument's qualifier says. */
static bool forbidden(const struct memory *image, cl_uint access) {
    return (access == CL_ARG_ACCESS_READ_ONLY && image->flags & CL_MEM_WRITE_ONLY) ||
           (access == CL_ARG_ACCESS_WRITE_ONLY && image->flags & CL_MEM_READ_ONLY);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (index >= kernel->facts->argument_count) return CL_INVALID_ARG_INDEX;
    const struct argument_facts *facts = &kernel->facts->arguments[index];
    struct argument *argument = &kernel->arguments[index];
    switch (facts->passing) {
    case PASS_LOCAL:
        if (value) return CL_INVALID_ARG_VALUE;
        if (!bytes) return CL_INVALID_ARG_SIZE;
        argument->bytes = bytes;
        break;
    case PASS_BUFFER:
    case PASS_IMAGE: {
        cl_mem memory = NULL;
        if (bytes != sizeof memory) return CL_INVALID_ARG_SIZE;
        if (value) memcpy(&memory, value, sizeof memory);
        if (!memory && facts->passing == PASS_IMAGE) return CL_INVALID_MEM_OBJECT;
        if (memory && !memory_fits(memory, facts->passing, kernel->context)) return CL_INVALID_MEM_OBJECT;
        if (memory && forbidden(memory, facts->access)) return CL_INVALID_ARG_VALUE;
        argument->memory = memory;
        argument->pointer = NULL;
        break;
    }
    case PASS_SAMPLER: {
        cl_sampler sampler = NULL;
        if (bytes != sizeof sampler) return CL_INVALID_ARG_SIZE;
        if (!value) return CL_INVALID_SAMPLER;
        memcpy(&sampler, value, sizeof sampler);
        if (!object_is(sampler, SAMPLER)) return CL_INVALID_SAMPLER;
        argument->sampler = sampler;
        break;
    }
    case PASS_VALUE:
    case PASS_RECORD:
        if (bytes != facts->size) return CL_INVALID_ARG_SIZE;
        if (!value) return CL_INVALID_ARG_VALUE;
        memcpy(argument->value, value, bytes);
        break;
    }
    argument->set = true;
    return CL_SUCCESS;
}

cl_int clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *pointer) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (index >= kernel->facts->argument_count) return CL_INVALID_ARG_INDEX;
    if (kernel->facts->arguments[index].passing != PASS_BUFFER) return CL_INVALID_ARG_VALUE;
    kernel->arguments[index].memory = NULL;
    kernel->arguments[index].pointer = (void *)pointer;
    kernel->arguments[index].set = true;
    return CL_SUCCESS;
}

cl_int clSetKernelExecInfo(cl_kernel kernel, cl_uint name, size_t bytes, const void *value) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (!value) return CL_INVALID_VALUE;
    /* Kernels reach all of the host's memory, so there is nothing to note. */
    switch (name) {
    case CL_KERNEL_EXEC_INFO_SVM_PTRS: return bytes && bytes % sizeof(void *) == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
    case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
        if (bytes != sizeof(cl_bool)) return CL_INVALID_VALUE;
        return *(const cl_bool *)value ? CL_INVALID_OPERATION : CL_SUCCESS;
    default: return CL_INVALID_VALUE;
    }
}

cl_int clGetKernelInfo(cl_kernel kernel, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    switch (name) {
    case CL_KERNEL_FUNCTION_NAME: return answer_text(kernel->facts->name, size, value, bytes_out);
    case CL_KERNEL_NUM_ARGS: ANSWER(cl_uint, kernel->facts->argument_count);
    case CL_KERNEL_REFERENCE_COUNT: ANSWER(cl_uint, object_references(kernel));
    case CL_KERNEL_CONTEXT: ANSWER(cl_context, kernel->context);
    case CL_KERNEL_PROGRAM: ANSWER(cl_program, kernel->program);
    case CL_KERNEL_ATTRIBUTES: return answer_text(kernel->facts->attributes, size, value, bytes_out);
    default: return CL_INVALID_VALUE;
    }
}

cl_int clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_uint name, size_t size, void *value,
                          size_t *bytes_out) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (index >= kernel->facts->argument_count) return CL_INVALID_ARG_INDEX;
    const struct argument_facts *facts = &kernel->facts->arguments[index];
    switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER: ANSWER(cl_uint, facts->address);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER: ANSWER(cl_uint, facts->access);
    case CL_KERNEL_ARG_TYPE_NAME: return answer_text(facts->type_name, size, value, bytes_out);
    case CL_KERNEL_ARG_TYPE_QUALIFIER: ANSWER(cl_bitfield, facts->qualifiers);
    case CL_KERNEL_ARG_NAME: return answer_text(facts->name, size, value, bytes_out);
    default: return CL_INVALID_VALUE;
    }
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_uint name, size_t size, void *value,
                                size_t *bytes_out) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (device ? !object_is(device, DEVICE) || !context_has(kernel->context, device)
               : kernel->context->device_count > 1)
        return CL_INVALID_DEVICE;
    cl_ulong local = kernel->facts->local_bytes;
    switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE: ANSWER(size_t, weft_group_limit);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
        return answer(kernel->facts->required, sizeof kernel->facts->required, size, value, bytes_out);
    case CL_KERNEL_LOCAL_MEM_SIZE:
        for (cl_uint i = 0; i < kernel->facts->argument_count; i++)
            if (kernel->facts->arguments[i].passing == PASS_LOCAL) local += kernel->arguments[i].bytes;
        ANSWER(cl_ulong, local);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: ANSWER(size_t, kernel->facts->sub_group_size);
    case CL_KERNEL_PRIVATE_MEM_SIZE: ANSWER(cl_ulong, kernel->facts->private_bytes);
    case CL_KERNEL_GLOBAL_WORK_SIZE: return CL_INVALID_VALUE;
    default: return CL_INVALID_VALUE;
    }
}

cl_int clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device, cl_uint name, size_t input_size,
                               const void *input, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (device && (!object_is(device, DEVICE) || !context_has(kernel->context, device))) return CL_INVALID_DEVICE;
    size_t lanes = kernel->facts->sub_group_size, threads = 1, count;
    switch (name) {
    case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE:
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE:
        if (!input || input_size % sizeof count || !input_size || input_size > 3 * sizeof count)
            return CL_INVALID_VALUE;
        for (size_t d = 0; d < input_size / sizeof count; d++) threads *= ((const size_t *)input)[d];
        if (name == CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE) ANSWER(size_t, (threads + lanes - 1) / lanes);
        ANSWER(size_t, threads < lanes ? threads : lanes);
    case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT: {
        if (!input || input_size != sizeof count) return CL_INVALID_VALUE;
        count = *(const size_t *)input;
        size_t local[3] = {count * lanes <= weft_group_limit ? count * lanes : 0, 1, 1};
        size_t dimensions = size / sizeof count;
        if (value && (!dimensions || dimensions > 3 || size % sizeof count)) return CL_INVALID_VALUE;
        if (!local[0]) local[1] = local[2] = 0;
        return answer(local, (dimensions ? dimensions : 1) * sizeof count, size, value, bytes_out);
    }
    case CL_KERNEL_MAX_NUM_SUB_GROUPS: ANSWER(size_t, weft_group_limit / lanes);
    case CL_KERNEL_COMPILE_NUM_SUB_GROUPS: ANSWER(size_t, 0);
    default: return CL_INVALID_VALUE;
    }
}
