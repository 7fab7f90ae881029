/* Launches of kernels: what work-groups there are, code for them, and running it. */

#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1u << 31 };

extern const size_t weft_group_limit, weft_local_bytes, weft_small_grid;

/* Code. It is made once for each kind of launch, and found again without the compiler. */

static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;

/* Of which launches code is for. */
struct launch_kind {
    bool large, placed, apart;
    struct known_lengths known;
};

static struct prepared *find_prepared(const struct kernel_facts *facts, const size_t *local,
                                      const struct launch_kind *kind) {
    struct prepared *code = facts->prepared;
    while (code && !(code->large == kind->large && code->placed == kind->placed && code->apart == kind->apart &&
                     !memcmp(code->local, local, sizeof code->local) &&
                     !memcmp(&code->known, &kind->known, sizeof code->known)))
        code = code->next;
    return code;
}

/* `any` is the code for rows of any length, if there is one. */
static cl_int ask_for_code(struct program *program, const struct kernel_facts *facts, struct prepared *code,
                           const struct prepared *any) {
    struct message request = {0}, reply;
    message_add_text(&request, "prepare");
    message_add(&request, program->blob.data, program->blob.size);
    message_add_text(&request, facts->name);
    for (int d = 0; d < 3; d++) message_add_number(&request, (int64_t)code->local[d]);
    message_add_number(&request, code->large);
    message_add_number(&request, code->placed);
    message_add_number(&request, code->apart);
    if (any) message_add_lengths(&request, &any->code, &code->known);
    bool answered = compiler_ask(&request, &reply);
    free(request.data);
    if (!answered) return CL_COMPILER_NOT_AVAILABLE;
    int64_t status;
    bool loaded = code_read(&reply, facts->name, &code->code, &status);
    free(reply.data);
    return loaded ? CL_SUCCESS : status ? (cl_int)status : CL_OUT_OF_RESOURCES;
}

static const struct prepared *prepare_kind(struct kernel *kernel, const size_t *local, const struct launch_kind *kind,
                                           const struct prepared *any) {
    struct kernel_facts *facts = kernel->facts;
    struct prepared *code = find_prepared(facts, local, kind);
    if (!code && (code = calloc(1, sizeof *code))) {
        memcpy(code->local, local, sizeof code->local);
        code->large = kind->large;
        code->placed = kind->placed;
        code->apart = kind->apart;
        code->known = kind->known;
        code->error = ask_for_code(kernel->program, facts, code, any);
        code->next = facts->prepared;
        facts->prepared = code;
    }
    return code;
}

static const struct prepared *prepare_code(const struct launch *launch, const size_t *local, struct launch_kind kind) {
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) threads *= launch->global[d];
    pthread_mutex_lock(&preparing);
    const struct prepared *code = prepare_kind(launch->kernel, local, &kind, NULL);
    if (code && !code->error) {
        kind.known = code_lengths(&code->code, launch->slots, launch->argument_slots, threads);
        if (are_known(&kind.known)) code = prepare_kind(launch->kernel, local, &kind, code);
    }
    pthread_mutex_unlock(&preparing);
    return code;
}

void forked_reset_launches(void) { pthread_mutex_init(&preparing, NULL); }

/* The slots behind the arguments: what the whole launch is, and where the part is in it (weft.opencl.prepare). */
static void place(const struct launch *launch, const struct part *part, int64_t *slots) {
    *slots++ = (int64_t)launch->kernel->program->scope;
    *slots++ = launch->dimensions;
    for (int d = 0; d < 3; d++) {
        size_t groups = (launch->global[d] + launch->local[d] - 1) / launch->local[d];
        slots[d] = (int64_t)launch->offset[d];
        slots[3 + d] = (int64_t)launch->global[d];
        slots[6 + d] = (int64_t)groups;
        slots[9 + d] = (int64_t)launch->local[d];
        slots[12 + d] = (int64_t)part->first_group[d];
        slots[15 + d] = (int64_t)(part->first_group[d] * launch->local[d] + launch->offset[d]);
    }
}

static cl_int run_part(struct launch *launch, const struct part *part) {
    int64_t error[ERROR_WORDS] = {0};
    int64_t groups = 1;
    struct record record = {.slots = launch->slots, .dynamic_bytes = (int64_t)launch->local_bytes, .error = error};
    for (int d = 0; d < 3; d++) {
        record.grid[d] = (int64_t)part->groups[d];
        record.block[d] = (int64_t)part->local[d];
        groups *= record.grid[d];
    }
    place(launch, part, launch->slots + launch->argument_slots);
    cl_int checked;
    if (launches_are_checked() && launch_check(launch, part, &checked)) return checked;
    const struct code *code = &part->code->code;
    int64_t chunk = (int64_t)code->chunk, chunks = (groups + chunk - 1) / chunk;
    cl_uint threads = pool_threads();
    if (threads > chunks) threads = (cl_uint)chunks;
    struct arenas *arenas = arenas_take(arena_bytes(code, part->local, launch->local_bytes), threads);
    if (!arenas) return CL_OUT_OF_RESOURCES;
    record.arenas = arenas->table;
    int32_t status = pool_run(code->entry, &record, groups, chunk, threads);
    arenas_give(arenas);
    if (!status) return CL_COMPLETE;
    fprintf(stderr, "weft: work-items of a group of %s wait at different barriers\n", launch->kernel->facts->name);
    return CL_OUT_OF_RESOURCES;
}

static cl_int run_launch(struct command *command) {
    struct launch *launch = command->payload;
    cl_int status = CL_COMPLETE;
    for (cl_uint i = 0; i < launch->part_count && status == CL_COMPLETE; i++)
        status = run_part(launch, &launch->parts[i]);
    return status;
}

static void drop_launch(struct command *command) {
    struct launch *launch = command->payload;
    for (cl_uint i = 0; i < launch->memory_count; i++) object_drop(launch->memories[i]);
    free(launch->memories);
}

/* Arguments. */

static size_t argument_slots(const struct argument_facts *facts) {
    return facts->passing == PASS_VALUE ? facts->lanes : 1;
}

static size_t record_bytes(const struct argument_facts *facts) {
    return facts->passing == PASS_RECORD ? (facts->size + 127) / 128 * 128 : 0;
}

static int64_t sampler_bits(const struct sampler *sampler) {
    static const int modes[] = {0, 2, 4, 6, 8};
    return (sampler->normalized ? WEFT_SAMPLER_NORMALIZED : 0) | modes[sampler->addressing - CL_ADDRESS_NONE] |
           (sampler->filter == CL_FILTER_LINEAR ? WEFT_SAMPLER_LINEAR : WEFT_SAMPLER_NEAREST);
}

/* Writes the slots of all arguments, and copies of those that are passed by address behind the slots. */
static void pack(struct launch *launch, const struct kernel *kernel, char *records) {
    const struct kernel_facts *facts = kernel->facts;
    int64_t *slot = launch->slots;
    size_t local_bytes = 0;
    for (cl_uint i = 0; i < facts->argument_count; i++) {
        const struct argument_facts *type = &facts->arguments[i];
        const struct argument *argument = &kernel->arguments[i];
        switch (type->passing) {
        case PASS_LOCAL:
            *slot = (int64_t)local_bytes;
            local_bytes += (argument->bytes + 127) / 128 * 128;
            break;
        case PASS_BUFFER:
        case PASS_IMAGE:
            *slot = (int64_t)(argument->memory ? argument->memory->data : argument->pointer);
            if (type->passing == PASS_IMAGE) *slot = (int64_t)&argument->memory->image;
            if (argument->memory) {
                object_hold(argument->memory);
                launch->memories[launch->memory_count++] = argument->memory;
            }
            break;
        case PASS_SAMPLER: *slot = sampler_bits(argument->sampler); break;
        case PASS_VALUE:
            for (size_t lane = 0; lane < type->lanes; lane++) {
                slot[lane] = 0;
                memcpy(&slot[lane], argument->value + lane * type->element, type->element);
            }
            break;
        case PASS_RECORD:
            memcpy(records, argument->value, type->size);
            *slot = (int64_t)records;
            records += record_bytes(type);
            break;
        }
        slot += argument_slots(type);
    }
    launch->local_bytes = local_bytes;
}

/* Whether no two buffers share bytes. How far shared memory reaches is not known. */
static bool are_apart(const struct kernel *kernel) {
    for (cl_uint i = 0; i < kernel->facts->argument_count; i++) {
        const struct argument *a = &kernel->arguments[i];
        if (kernel->facts->arguments[i].passing != PASS_BUFFER || (!a->memory && !a->pointer)) continue;
        for (cl_uint k = 0; k < i; k++) {
            const struct argument *b = &kernel->arguments[k];
            if (kernel->facts->arguments[k].passing != PASS_BUFFER || (!b->memory && !b->pointer)) continue;
            if (a->pointer || b->pointer) return false;
            if (a->memory->data < b->memory->data + b->memory->size && b->memory->data < a->memory->data + a->memory->size)
                return false;
        }
    }
    return true;
}

static cl_int check_arguments(const struct kernel *kernel, bool *large) {
    cl_ulong local = kernel->facts->local_bytes;
    for (cl_uint i = 0; i < kernel->facts->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];
        enum passing passing = kernel->facts->arguments[i].passing;
        if (!argument->set) return CL_INVALID_KERNEL_ARGS;
        switch (passing) {
        case PASS_LOCAL:
            if (argument->bytes > weft_local_bytes) return CL_OUT_OF_RESOURCES;
            local += argument->bytes;
            break;
        case PASS_SAMPLER:
            if (!object_is(argument->sampler, SAMPLER)) return CL_INVALID_KERNEL_ARGS;
            break;
        case PASS_BUFFER:
        case PASS_IMAGE:
            /* It may have been released since it was set, and another object be in its place. */
            if (argument->memory && !memory_fits(argument->memory, passing, kernel->context))
                return CL_INVALID_KERNEL_ARGS;
            /* How far shared memory reaches is not known from an address. */
            *large |= argument->pointer || (argument->memory && argument->memory->size >= LARGE);
            break;
        default: break;
        }
    }
    return local > weft_local_bytes ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

/* Work-groups. */

static size_t largest_divisor(size_t number, size_t limit) {
    for (size_t n = limit < number ? limit : number; n > 1; n--)
        if (number % n == 0) return n;
    return 1;
}

/* A size for who asks for none: rows as long as may be, up to 256 work-items. */
static void choose_local(struct launch *launch, const struct kernel_facts *facts) {
    size_t room = 256;
    for (int d = 0; d < 3; d++) {
        if (facts->required[0]) {
            launch->local[d] = facts->required[d];
            continue;
        }
        size_t global = launch->global[d];
        size_t size = largest_divisor(global, room);
        /* Better a last group that is smaller than many small ones. */
        if (d == 0 && facts->non_uniform && size < 32 && global > room) size = room;
        launch->local[d] = size;
        room /= size;
    }
}

static cl_int check_sizes(struct launch *launch, const struct kernel_facts *facts, const size_t *offset,
                          const size_t *global, const size_t *local) {
    size_t threads = 1;
    for (int d = 0; d < 3; d++) {
        bool used = (cl_uint)d < launch->dimensions;
        /* No sizes are zeros, and a launch of none does nothing (API 3.0, section 5.10). */
        launch->global[d] = !used ? 1 : global ? global[d] : 0;
        launch->offset[d] = used && offset ? offset[d] : 0;
        launch->local[d] = used && local ? local[d] : 1;
        if (launch->offset[d] + launch->global[d] < launch->offset[d]) return CL_INVALID_GLOBAL_OFFSET;
    }
    if (!local && launch->global[0] && launch->global[1] && launch->global[2]) choose_local(launch, facts);
    for (int d = 0; d < 3; d++) {
        if (!launch->local[d]) return CL_INVALID_WORK_GROUP_SIZE;
        if (launch->local[d] > weft_group_limit) return CL_INVALID_WORK_ITEM_SIZE;
        threads *= launch->local[d];
        if (facts->required[0] && launch->local[d] != facts->required[d]) return CL_INVALID_WORK_GROUP_SIZE;
        if (launch->global[d] % launch->local[d] && (!facts->non_uniform || facts->required[0]))
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    return threads > weft_group_limit ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
}

/* Divides the launch into boxes of equal work-groups: whole ones, and those at the far ends. */
static cl_int divide(struct launch *launch, struct kernel *kernel, bool large) {
    struct launch_kind kind = {.large = large, .apart = are_apart(kernel)};
    for (int d = 0; d < 3; d++) {
        kind.placed |= launch->offset[d] || launch->global[d] % launch->local[d];
        kind.large |= launch->offset[d] + launch->global[d] > weft_small_grid;
    }
    for (unsigned corner = 0; corner < PARTS; corner++) {
        struct part part = {0};
        bool any = true;
        for (int d = 0; d < 3; d++) {
            size_t whole = launch->global[d] / launch->local[d], rest = launch->global[d] % launch->local[d];
            bool end = corner >> d & 1;
            part.local[d] = end ? rest : launch->local[d];
            part.groups[d] = end ? rest != 0 : whole;
            part.first_group[d] = end ? whole : 0;
            any &= part.groups[d] != 0;
        }
        if (!any) continue;
        part.code = prepare_code(launch, part.local, kind);
        if (!part.code) return CL_OUT_OF_HOST_MEMORY;
        if (part.code->error) return part.code->error;
        launch->parts[launch->part_count++] = part;
    }
    return CL_SUCCESS;
}

static cl_int enqueue(cl_command_queue queue, cl_uint type, cl_kernel kernel, cl_uint dimensions,
                      const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                      const cl_event *waits, cl_event *event) {
    cl_int wrong = command_check(queue, 0, NULL);
    if (wrong) return wrong;
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (kernel->context != queue->context) return CL_INVALID_CONTEXT;
    wrong = command_check(queue, count, waits);
    if (wrong) return wrong;
    const struct kernel_facts *facts = kernel->facts;
    bool large = false;
    wrong = check_arguments(kernel, &large);
    if (wrong) return wrong;
    if (dimensions < 1 || dimensions > 3) return CL_INVALID_WORK_DIMENSION;
    size_t slots = 0, records = 0;
    for (cl_uint i = 0; i < facts->argument_count; i++) {
        slots += argument_slots(&facts->arguments[i]);
        records += record_bytes(&facts->arguments[i]);
    }
    size_t bytes = sizeof(struct launch) + (slots + HIDDEN_SLOTS) * 8 + 128 + records;
    struct command *command = command_make(queue, type, bytes, run_launch);
    if (!command) return CL_OUT_OF_HOST_MEMORY;
    struct launch *launch = command->payload;
    launch->kernel = kernel;
    launch->dimensions = dimensions;
    launch->argument_slots = slots;
    launch->memories = calloc(facts->argument_count + 1, sizeof *launch->memories);
    command->drop = drop_launch;
    command_use(command, kernel);
    wrong = launch->memories ? check_sizes(launch, facts, offset, global, local) : CL_OUT_OF_HOST_MEMORY;
    if (!wrong) {
        char *copies = (char *)launch + sizeof *launch + (slots + HIDDEN_SLOTS) * 8;
        pack(launch, kernel, copies + -(uintptr_t)copies % 128);
        wrong = divide(launch, kernel, large);
    }
    if (wrong) {
        command_abandon(command);
        return wrong;
    }
    return command_submit(command, count, waits, false, event);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                              cl_event *event) {
    return enqueue(queue, CL_COMMAND_NDRANGE_KERNEL, kernel, dimensions, offset, global, local, count, waits, event);
}

cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits,
                     cl_event *event) {
    const size_t one = 1;
    return enqueue(queue, CL_COMMAND_TASK, kernel, 1, NULL, &one, &one, count, waits, event);
}
