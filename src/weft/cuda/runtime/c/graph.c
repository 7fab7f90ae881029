/* Graphs: tasks that are kept, and run in their order as often as one likes. */

#include "runtime.h"

#include <stdlib.h>
#include <string.h>

/* Held by the user, by what was instantiated of it, and by each run that is not done. */
struct graph {
    _Atomic uint32_t holds;
    size_t count, room;
    struct task **tasks;
};

struct graph *graph_make(void) {
    struct graph *graph = calloc(1, sizeof *graph);
    if (graph) graph->holds = 1;
    return graph;
}

void graph_add(struct graph *graph, struct task *task) {
    if (graph->count == graph->room) {
        size_t room = graph->room ? 2 * graph->room : 16;
        struct task **tasks = realloc(graph->tasks, room * sizeof *tasks);
        if (!tasks) return;
        graph->tasks = tasks;
        graph->room = room;
    }
    graph->tasks[graph->count++] = task;
}

static void graph_drop(struct graph *graph) {
    if (--graph->holds) return;
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->tasks[i]->drop) graph->tasks[i]->drop(graph->tasks[i]);
        free(graph->tasks[i]);
    }
    free(graph->tasks);
    free(graph);
}

static void run_graph(struct task *task) {
    const struct graph *graph = *(struct graph **)task->payload;
    for (size_t i = 0; i < graph->count && !device_error(); i++) graph->tasks[i]->run(graph->tasks[i]);
}

static void drop_run(struct task *task) { graph_drop(*(struct graph **)task->payload); }

API cudaError_t cudaGraphCreate(struct graph **graph, unsigned flags) {
    if (!graph || flags) return report(cudaErrorInvalidValue);
    *graph = graph_make();
    return report(*graph ? cudaSuccess : cudaErrorMemoryAllocation);
}

API cudaError_t cudaGraphDestroy(struct graph *graph) {
    if (!graph) return report(cudaErrorInvalidValue);
    graph_drop(graph);
    return report(cudaSuccess);
}

API cudaError_t cudaGraphInstantiate(struct graph **made, struct graph *graph, unsigned long long flags) {
    (void)flags;
    if (!made || !graph) return report(cudaErrorInvalidValue);
    graph->holds++;
    *made = graph;
    return report(cudaSuccess);
}

API cudaError_t cudaGraphInstantiateWithFlags(struct graph **made, struct graph *graph, unsigned long long flags) {
    return cudaGraphInstantiate(made, graph, flags);
}

API cudaError_t cudaGraphExecDestroy(struct graph *graph) { return cudaGraphDestroy(graph); }

API cudaError_t cudaGraphUpload(struct graph *graph, void *stream) {
    return report(graph && stream_of(stream) ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaGraphLaunch(struct graph *graph, void *stream) {
    if (!graph || !stream_of(stream)) return report(cudaErrorInvalidValue);
    struct task *task = task_make(sizeof graph, run_graph);
    if (!task) return report(cudaErrorMemoryAllocation);
    memcpy(task->payload, &graph, sizeof graph);
    task->drop = drop_run;
    graph->holds++;
    return report(task_submit(task, stream));
}

/* How many there are; the nodes themselves are no handles of their own. */
API cudaError_t cudaGraphGetNodes(struct graph *graph, void **nodes, size_t *count) {
    if (!graph || !count) return report(cudaErrorInvalidValue);
    for (size_t i = 0; nodes && i < *count && i < graph->count; i++) nodes[i] = graph->tasks[i];
    *count = graph->count;
    return report(cudaSuccess);
}
