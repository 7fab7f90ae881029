/* Programs: source, building, compiling, linking, binaries. */

#include "compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*program_notify)(cl_program program, void *data);

/* Builds are one at a time, as is the compiler. */
static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;

void forked_reset_programs(void) { pthread_mutex_init(&building, NULL); }

static const char magic[8] = "WEFTCL1";

static struct program *program_make(struct context *context) {
    struct program *program = object_make(PROGRAM);
    if (!program) return NULL;
    program->context = context;
    object_hold(context);
    program->status = CL_BUILD_NONE;
    return program;
}

static void kernels_free(struct program *program) {
    for (cl_uint i = 0; i < program->kernel_count; i++) {
        struct kernel_facts *kernel = &program->kernels[i];
        for (cl_uint k = 0; k < kernel->argument_count; k++) {
            free(kernel->arguments[k].name);
            free(kernel->arguments[k].type_name);
        }
        /* Code that was loaded stays: a launch may be on its way. */
        while (kernel->prepared) {
            struct prepared *next = kernel->prepared->next;
            free(kernel->prepared);
            kernel->prepared = next;
        }
        free(kernel->arguments);
        free(kernel->name);
        free(kernel->attributes);
    }
    free(program->kernels);
    program->kernels = NULL;
    program->kernel_count = 0;
}

static void program_free(void *object) {
    struct program *program = object;
    farewells_call(program->farewells, program);
    kernels_free(program);
    free(program->source);
    free(program->options);
    free(program->log);
    free(program->blob.data);
    free(program->scope);
    object_drop(program->context);
}

__attribute__((constructor)) static void prepare(void) { object_on_free(PROGRAM, program_free); }

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                                     cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (!count || !texts) FAIL(CL_INVALID_VALUE);
    size_t bytes = 0;
    for (cl_uint i = 0; i < count; i++) {
        if (!texts[i]) FAIL(CL_INVALID_VALUE);
        bytes += lengths && lengths[i] ? lengths[i] : strlen(texts[i]);
    }
    struct program *program = program_make(context);
    char *source = program ? malloc(bytes + 1) : NULL;
    if (!source) {
        if (program) object_release(program, PROGRAM, 0);
        FAIL(CL_OUT_OF_HOST_MEMORY);
    }
    program->source = source;
    for (cl_uint i = 0; i < count; i++) {
        size_t length = lengths && lengths[i] ? lengths[i] : strlen(texts[i]);
        memcpy(source, texts[i], length);
        source += length;
    }
    *source = 0;
    if (error) *error = CL_SUCCESS;
    return program;
}

static cl_int check_devices(const struct context *context, cl_uint count, const cl_device_id *devices) {
    if (!count != !devices) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++)
        if (!object_is(devices[i], DEVICE) || !context_has(context, devices[i])) return CL_INVALID_DEVICE;
    return CL_SUCCESS;
}

/* A binary is our mark, the type in 4 bytes, and the compiler's own form. */
cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *lengths, const unsigned char **binaries, cl_int *statuses,
                                     cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (!count || !devices || !lengths || !binaries) FAIL(CL_INVALID_VALUE);
    cl_int wrong = check_devices(context, count, devices);
    if (wrong) FAIL(wrong);
    /* There is one device, so a second one is the same again. */
    if (count > 1) FAIL(CL_INVALID_DEVICE);
    for (cl_uint i = 0; i < count; i++) {
        cl_int status = !binaries[i] || !lengths[i] ? CL_INVALID_VALUE : CL_SUCCESS;
        if (!status && (lengths[i] < sizeof magic + 4 || memcmp(binaries[i], magic, sizeof magic)))
            status = CL_INVALID_BINARY;
        if (statuses) statuses[i] = status;
        if (status && !wrong) wrong = status;
    }
    if (wrong) FAIL(wrong);
    struct program *program = program_make(context);
    if (!program) FAIL(CL_OUT_OF_HOST_MEMORY);
    program->blob.size = lengths[0] - sizeof magic - 4;
    program->blob.data = malloc(program->blob.size + 1);
    if (!program->blob.data) {
        object_release(program, PROGRAM, 0);
        FAIL(CL_OUT_OF_HOST_MEMORY);
    }
    memcpy(&program->binary_type, binaries[0] + sizeof magic, 4);
    memcpy(program->blob.data, binaries[0] + sizeof magic + 4, program->blob.size);
    if (error) *error = CL_SUCCESS;
    return program;
}

cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id *devices,
                                             const char *names, cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (!count || !devices || !names) FAIL(CL_INVALID_VALUE);
    cl_int wrong = check_devices(context, count, devices);
    FAIL(wrong ? wrong : CL_INVALID_VALUE);
}

cl_program clCreateProgramWithIL(cl_context context, const void *il, size_t bytes, cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (!il || !bytes) FAIL(CL_INVALID_VALUE);
    FAIL(CL_INVALID_OPERATION);
}

cl_int clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t bytes, const void *value) {
    (void)id, (void)bytes, (void)value;
    return object_is(program, PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
}

cl_int clSetProgramReleaseCallback(cl_program program, void (*call)(cl_program, void *), void *data) {
    (void)call, (void)data;
    /* For programs with destructors of program-scope objects, of which OpenCL C has none. */
    return object_is(program, PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
}

cl_int clRetainProgram(cl_program program) { return object_retain(program, PROGRAM, CL_INVALID_PROGRAM); }
cl_int clReleaseProgram(cl_program program) { return object_release(program, PROGRAM, CL_INVALID_PROGRAM); }

static void read_argument(struct message *reply, struct argument_facts *argument) {
    static const cl_uint accesses[] = {CL_ARG_ACCESS_NONE, CL_ARG_ACCESS_READ_ONLY, CL_ARG_ACCESS_WRITE_ONLY,
                                       CL_ARG_ACCESS_READ_WRITE};
    static const cl_uint spaces[] = {CL_ARG_ADDRESS_PRIVATE, CL_ARG_ADDRESS_GLOBAL, CL_ARG_ADDRESS_CONSTANT,
                                     CL_ARG_ADDRESS_LOCAL};
    argument->name = message_text(reply);
    argument->type_name = message_text(reply);
    argument->address = spaces[message_number(reply) & 3];
    argument->access = accesses[message_number(reply) & 3];
    argument->qualifiers = (cl_bitfield)message_number(reply);
    argument->passing = (enum passing)message_number(reply);
    argument->size = (size_t)message_number(reply);
    argument->align = (size_t)message_number(reply);
    argument->element = (size_t)message_number(reply);
    argument->lanes = (size_t)message_number(reply);
}

static void read_kernel(struct message *reply, struct kernel_facts *kernel) {
    kernel->name = message_text(reply);
    kernel->attributes = message_text(reply);
    for (int d = 0; d < 3; d++) kernel->required[d] = (size_t)message_number(reply);
    kernel->local_bytes = (cl_ulong)message_number(reply);
    kernel->private_bytes = (cl_ulong)message_number(reply);
    kernel->sub_group_size = (cl_uint)message_number(reply);
    kernel->non_uniform = message_number(reply);
    size_t count = (size_t)message_number(reply);
    kernel->arguments = reply->failed ? NULL : calloc(count + 1, sizeof *kernel->arguments);
    kernel->argument_count = kernel->arguments ? (cl_uint)count : 0;
    for (cl_uint i = 0; i < kernel->argument_count; i++) read_argument(reply, &kernel->arguments[i]);
}

/* Memory for variables of program scope: what they hold at first, and pairs of a place in it and the place whose address
   that holds. */
static char *scope_make(struct buffer data, struct buffer pointers) {
    char *scope = memory_allocate(data.size);
    if (!scope) return NULL;
    if (data.size) memcpy(scope, data.data, data.size);
    for (size_t at = 0; at + 16 <= pointers.size; at += 16) {
        int64_t place, target;
        memcpy(&place, pointers.data + at, 8);
        memcpy(&target, pointers.data + at + 8, 8);
        char *address = scope + target;
        memcpy(scope + place, &address, sizeof address);
    }
    return scope;
}

/* Takes over what the compiler made; the program is as before if it made nothing. */
static cl_int read_result(struct program *program, struct message *reply) {
    cl_int status = (cl_int)message_number(reply);
    free(program->log);
    program->log = message_text(reply);
    cl_uint type = (cl_uint)message_number(reply);
    struct buffer blob = message_field(reply);
    size_t scope_bytes = (size_t)message_number(reply);
    struct buffer scope = message_field(reply), pointers = message_field(reply);
    size_t count = (size_t)message_number(reply);
    if (reply->failed) return CL_OUT_OF_RESOURCES;
    if (status) return status;
    char *data = malloc(blob.size + 1);
    struct kernel_facts *kernels = calloc(count + 1, sizeof *kernels);
    char *variables = scope_make(scope, pointers);
    if (!data || !kernels || !variables) {
        free(data);
        free(kernels);
        free(variables);
        return CL_OUT_OF_HOST_MEMORY;
    }
    memcpy(data, blob.data, blob.size);
    free(program->blob.data);
    program->blob = (struct buffer){data, blob.size};
    kernels_free(program);
    program->kernels = kernels;
    program->kernel_count = (cl_uint)count;
    for (size_t i = 0; i < count; i++) read_kernel(reply, &kernels[i]);
    program->binary_type = type;
    free(program->scope);
    program->scope = variables;
    program->scope_bytes = scope_bytes;
    return reply->failed ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

/* Sends a request and reads the answer to it into a program; `failure` where the compiler cannot be reached. */
static cl_int run_compiler(struct program *program, struct message *request, const char *options) {
    struct message reply;
    free(program->options);
    program->options = strdup(options ? options : "");
    program->status = CL_BUILD_IN_PROGRESS;
    cl_int status = CL_COMPILER_NOT_AVAILABLE;
    if (compiler_ask(request, &reply)) {
        status = read_result(program, &reply);
        free(reply.data);
    }
    free(request->data);
    program->status = status ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
    return status;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      program_notify notify, void *data) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    if (!notify && data) return CL_INVALID_VALUE;
    cl_int wrong = check_devices(program->context, count, devices);
    if (wrong) return wrong;
    if (program->attached) return CL_INVALID_OPERATION;
    if (!program->source && !program->blob.data) return CL_INVALID_OPERATION;
    if (!program->source && program->binary_type != CL_BINARY_EXECUTABLE) return CL_INVALID_BINARY;
    struct message request = {0};
    message_add_text(&request, program->source ? "build" : "load");
    message_add_text(&request, options ? options : "");
    if (program->source)
        message_add_text(&request, program->source);
    else
        message_add(&request, program->blob.data, program->blob.size);
    pthread_mutex_lock(&building);
    cl_int status = run_compiler(program, &request, options);
    pthread_mutex_unlock(&building);
    if (notify) notify(program, data);
    return status;
}

cl_int clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                        cl_uint header_count, const cl_program *headers, const char **names, program_notify notify,
                        void *data) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    if (!notify && data) return CL_INVALID_VALUE;
    if (!header_count != !headers || !header_count != !names) return CL_INVALID_VALUE;
    cl_int wrong = check_devices(program->context, count, devices);
    if (wrong) return wrong;
    if (!program->source || program->attached) return CL_INVALID_OPERATION;
    struct message request = {0};
    message_add_text(&request, "compile");
    message_add_text(&request, options ? options : "");
    message_add_text(&request, program->source);
    message_add_number(&request, header_count);
    for (cl_uint i = 0; i < header_count; i++) {
        if (!object_is(headers[i], PROGRAM) || !headers[i]->source || !names[i]) {
            free(request.data);
            return CL_INVALID_PROGRAM;
        }
        message_add_text(&request, names[i]);
        message_add_text(&request, headers[i]->source);
    }
    pthread_mutex_lock(&building);
    cl_int status = run_compiler(program, &request, options);
    pthread_mutex_unlock(&building);
    if (notify) notify(program, data);
    /* Where it is the source, the standard has an error of its own for each of the two ways. */
    return status == CL_BUILD_PROGRAM_FAILURE ? CL_COMPILE_PROGRAM_FAILURE : status;
}

cl_program clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
                         cl_uint input_count, const cl_program *inputs, program_notify notify, void *data,
                         cl_int *error) {
    if (!object_is(context, CONTEXT)) FAIL(CL_INVALID_CONTEXT);
    if (!input_count || !inputs || (!notify && data)) FAIL(CL_INVALID_VALUE);
    cl_int wrong = check_devices(context, count, devices);
    if (wrong) FAIL(wrong);
    struct message request = {0};
    message_add_text(&request, "link");
    message_add_text(&request, options ? options : "");
    message_add_number(&request, input_count);
    for (cl_uint i = 0; i < input_count && !wrong; i++) {
        if (!object_is(inputs[i], PROGRAM))
            wrong = CL_INVALID_PROGRAM;
        else if (inputs[i]->binary_type != CL_BINARY_COMPILED_OBJECT && inputs[i]->binary_type != CL_BINARY_LIBRARY)
            wrong = CL_INVALID_OPERATION;
        else
            message_add(&request, inputs[i]->blob.data, inputs[i]->blob.size);
    }
    struct program *program = wrong ? NULL : program_make(context);
    if (!program) {
        free(request.data);
        FAIL(wrong ? wrong : CL_OUT_OF_HOST_MEMORY);
    }
    pthread_mutex_lock(&building);
    cl_int status = run_compiler(program, &request, options);
    pthread_mutex_unlock(&building);
    if (status == CL_INVALID_LINKER_OPTIONS) {
        object_release(program, PROGRAM, 0);
        FAIL(status);
    }
    if (notify) notify(program, data);
    if (error) *error = status;
    return program;
}

static cl_int answer_names(const struct program *program, size_t size, void *value, size_t *bytes_out) {
    size_t bytes = 1;
    for (cl_uint i = 0; i < program->kernel_count; i++) bytes += strlen(program->kernels[i].name) + 1;
    char *text = calloc(1, bytes);
    if (!text) return CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; i < program->kernel_count; i++) {
        if (i) strcat(text, ";");
        strcat(text, program->kernels[i].name);
    }
    cl_int status = answer_text(text, size, value, bytes_out);
    free(text);
    return status;
}

static size_t binary_bytes(const struct program *program) {
    return program->blob.data ? sizeof magic + 4 + program->blob.size : 0;
}

/* `value` points to a pointer for each device, of which there is one; a null one is left out. */
static cl_int answer_binaries(const struct program *program, size_t size, void *value, size_t *bytes_out) {
    if (value && size < sizeof(char *)) return CL_INVALID_VALUE;
    if (bytes_out) *bytes_out = sizeof(char *);
    char *target = value ? *(char **)value : NULL;
    if (target && program->blob.data) {
        memcpy(target, magic, sizeof magic);
        memcpy(target + sizeof magic, &program->binary_type, 4);
        memcpy(target + sizeof magic + 4, program->blob.data, program->blob.size);
    }
    return CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program program, cl_uint name, size_t size, void *value, size_t *bytes_out) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    const struct context *context = program->context;
    bool executable = program->binary_type == CL_BINARY_EXECUTABLE && program->kernels;
    switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT: ANSWER(cl_uint, object_references(program));
    case CL_PROGRAM_CONTEXT: ANSWER(cl_context, program->context);
    case CL_PROGRAM_NUM_DEVICES: ANSWER(cl_uint, context->device_count);
    case CL_PROGRAM_DEVICES:
        return answer(context->devices, context->device_count * sizeof *context->devices, size, value, bytes_out);
    case CL_PROGRAM_SOURCE: return answer_text(program->source, size, value, bytes_out);
    case CL_PROGRAM_IL: return answer(NULL, 0, size, value, bytes_out);
    case CL_PROGRAM_BINARY_SIZES: ANSWER(size_t, binary_bytes(program));
    case CL_PROGRAM_BINARIES: return answer_binaries(program, size, value, bytes_out);
    case CL_PROGRAM_NUM_KERNELS:
        if (!executable) return CL_INVALID_PROGRAM_EXECUTABLE;
        ANSWER(size_t, program->kernel_count);
    case CL_PROGRAM_KERNEL_NAMES:
        return executable ? answer_names(program, size, value, bytes_out) : CL_INVALID_PROGRAM_EXECUTABLE;
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: ANSWER(cl_bool, CL_FALSE);
    default: return CL_INVALID_VALUE;
    }
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_uint name, size_t size, void *value,
                             size_t *bytes_out) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    if (!object_is(device, DEVICE) || !context_has(program->context, device)) return CL_INVALID_DEVICE;
    switch (name) {
    case CL_PROGRAM_BUILD_STATUS: ANSWER(cl_int, program->status);
    case CL_PROGRAM_BUILD_OPTIONS: return answer_text(program->options, size, value, bytes_out);
    case CL_PROGRAM_BUILD_LOG: return answer_text(program->log, size, value, bytes_out);
    case CL_PROGRAM_BINARY_TYPE: ANSWER(cl_uint, program->binary_type);
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: ANSWER(size_t, program->scope_bytes);
    default: return CL_INVALID_VALUE;
    }
}
