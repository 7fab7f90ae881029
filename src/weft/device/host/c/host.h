/* What libraries for host programs share: the compiler's process, the thread pool, scratch memory, `printf`. */

#ifndef WEFT_HOST_H
#define WEFT_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    char *data;
    size_t size;
};

/* machine.c */
struct processor {
    char name[128];
    uint32_t mhz;
};
uint32_t processor_count(void);
size_t memory_bytes(void);
/* The name and the clock of the first processor, as the system tells them. */
struct processor processor_read(void);
/* Nanoseconds of a clock that never goes back. */
uint64_t now(void);

/* compiler.c. A message is zero at first; `data` is the sender's or receiver's to free. `failed` when memory ran out or a
   field was missing. */
struct message {
    char *data;
    size_t bytes, room, at;
    bool failed;
};

void message_add(struct message *message, const void *data, size_t bytes);
void message_add_text(struct message *message, const char *text);
void message_add_number(struct message *message, int64_t number);
/* The next field, which lies in the message; its text, which is the caller's to free. */
struct buffer message_field(struct message *message);
int64_t message_number(struct message *message);
char *message_text(struct message *message);
/* False when no compiler could be started, or it died twice. */
bool compiler_ask(struct message *request, struct message *reply);

/* code.c: what of a kernel runs, and how much memory it needs. */
typedef int32_t (*group_function)(void *record, int64_t begin, int64_t end, int32_t worker);

/* Slots of arguments that short rows have their lengths from, and up to which length there is code for just that one
   (weft.runtime.row_numbers). */
enum { MOST_LENGTHS = 8 };
struct length {
    size_t slot;
    int64_t longest;
};

struct code {
    group_function entry;
    size_t fixed, per_lane_group, lanes[3], chunk;
    size_t length_count;
    struct length lengths[MOST_LENGTHS];
};

/* The lengths that code is made for, in the order of those of the code for all; zero where it is for any. */
struct known_lengths {
    int64_t values[MOST_LENGTHS];
};

/* The launch record (weft.codegen.launch_record). */
enum { ERROR_WORDS = 8 };
struct record {
    int64_t grid[3], block[3];
    int64_t *slots;
    char **arenas;
    int64_t dynamic_bytes;
    int64_t *error;
};

/* Reads an answer and loads the code. False, and a message at the standard error stream, where there is none; `status` is
   the compiler's. */
bool code_read(struct message *reply, const char *kernel, struct code *code, int64_t *status);
/* What a launch of so many threads with these slots, as many as there are arguments, knows of lengths. */
struct known_lengths code_lengths(const struct code *code, const int64_t *slots, size_t count, uint64_t threads);
bool are_known(const struct known_lengths *lengths);
/* Appends which slots have which lengths, where `code` is that for all. */
void message_add_lengths(struct message *message, const struct code *code, const struct known_lengths *lengths);

/* arenas.c */
struct arenas {
    struct arenas *next;
    size_t bytes, count;
    char *data;
    char *table[];
};

struct arenas *arenas_take(size_t bytes, uint32_t threads);
void arenas_give(struct arenas *arenas);
/* Bytes that a worker needs for work-groups of a size with so much dynamic shared memory. */
size_t arena_bytes(const struct code *code, const size_t *local, size_t dynamic);

/* print.c */
void weft_print(const char *letters, const int64_t *slots);
/* What gets each line, the end of the line included; null is the standard output stream. */
void print_to(void (*write)(const char *text));

/* pool.c */
int32_t pool_run(group_function function, void *record, int64_t groups, int64_t chunk, uint32_t threads);
uint32_t pool_threads(void);
/* The pool's memory, with workers for launches by so many threads; null where there is none. */
void *pool_prepare(uint32_t threads);

/* What a file does in a forked process, where none of the other threads are that may hold its lock. */
void forked_reset_arenas(void);
void forked_reset_compiler(void);
void forked_reset_pool(void);

#endif
