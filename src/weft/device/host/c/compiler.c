/* The compiler: weft in a Python process of its own, which lives as long as this one and is asked over a socket.

   A message is a length in 8 bytes and so many bytes, which are fields: a length in 8 bytes and so many bytes each.
   Numbers are fields of 8 bytes. Every request says all that the compiler has to know, so a new process can go on where
   another one ended. The other side is weft/device/host/messages.py. */

#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
/* The Python that answers, and its module. */
extern const char weft_python[], weft_compiler[];

static struct {
    pthread_mutex_t lock;
    int socket;
    pid_t process;
} compiler = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};

void message_add(struct message *message, const void *data, size_t bytes) {
    size_t needed = message->bytes + 8 + bytes;
    if (needed > message->room) {
        message->room = needed * 2;
        char *larger = realloc(message->data, message->room);
        if (!larger) {
            message->failed = true;
            return;
        }
        message->data = larger;
    }
    uint64_t length = bytes;
    memcpy(message->data + message->bytes, &length, 8);
    if (bytes) memcpy(message->data + message->bytes + 8, data, bytes);
    message->bytes = needed;
}

void message_add_text(struct message *message, const char *text) { message_add(message, text, strlen(text)); }
void message_add_number(struct message *message, int64_t number) { message_add(message, &number, sizeof number); }

struct buffer message_field(struct message *message) {
    uint64_t length = 0;
    if (message->bytes - message->at >= 8) memcpy(&length, message->data + message->at, 8);
    if (message->bytes - message->at < 8 || message->bytes - message->at - 8 < length) {
        message->failed = true;
        return (struct buffer){NULL, 0};
    }
    struct buffer field = {message->data + message->at + 8, length};
    message->at += 8 + length;
    return field;
}

int64_t message_number(struct message *message) {
    struct buffer field = message_field(message);
    int64_t number = 0;
    if (field.size == sizeof number)
        memcpy(&number, field.data, sizeof number);
    else
        message->failed = true;
    return number;
}

char *message_text(struct message *message) {
    struct buffer field = message_field(message);
    char *text = malloc(field.size + 1);
    if (!text) {
        message->failed = true;
        return NULL;
    }
    if (field.size) memcpy(text, field.data, field.size);
    text[field.size] = 0;
    return text;
}

static bool send_all(const void *data, size_t bytes) {
    const char *at = data;
    while (bytes) {
        ssize_t sent = send(compiler.socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(void *data, size_t bytes) {
    char *at = data;
    while (bytes) {
        ssize_t got = recv(compiler.socket, at, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static void stop(void) {
    if (compiler.socket >= 0) close(compiler.socket);
    compiler.socket = -1;
    if (compiler.process > 0) waitpid(compiler.process, NULL, WNOHANG);
    compiler.process = 0;
}

/* The process that answers is the parent's, and so is what it answers. */
void forked_reset_compiler(void) {
    pthread_mutex_init(&compiler.lock, NULL);
    if (compiler.socket >= 0) close(compiler.socket);
    compiler.socket = -1;
    compiler.process = 0;
}

/* Python's own settings in the host's environment are the host's. */
static char **clean_environment(void) {
    static const char *const dropped[] = {"PYTHONHOME=", "PYTHONSTARTUP=", "PYTHONINSPECT=", "LD_PRELOAD="};
    size_t count = 0;
    while (environ[count]) count++;
    char **clean = malloc((count + 1) * sizeof *clean);
    size_t kept = 0;
    for (size_t i = 0; clean && i < count; i++) {
        bool drop = false;
        for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
            drop |= strncmp(environ[i], dropped[k], strlen(dropped[k])) == 0;
        if (!drop) clean[kept++] = environ[i];
    }
    if (clean) clean[kept] = NULL;
    return clean;
}

static bool start(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return false;
    const char *python = getenv("WEFT_PYTHON");
    char *arguments[] = {(char *)(python ? python : weft_python), "-P", "-m", (char *)weft_compiler, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    /* Ctrl-C at the terminal is for the host. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    char **clean = clean_environment();
    int failed = posix_spawnp(&compiler.process, arguments[0], &actions, &attributes, arguments,
                              clean ? clean : environ);
    free(clean);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (failed) {
        fprintf(stderr, "weft: %s cannot be started: %s\n", arguments[0], strerror(failed));
        close(ends[0]);
        return false;
    }
    compiler.socket = ends[0];
    return true;
}

static bool exchange(const struct message *request, struct message *reply) {
    uint64_t length = request->bytes;
    if (!send_all(&length, 8) || !send_all(request->data, request->bytes) || !receive_all(&length, 8)) return false;
    *reply = (struct message){.data = malloc(length ? length : 1), .bytes = length, .room = length};
    if (reply->data && receive_all(reply->data, length)) return true;
    free(reply->data);
    *reply = (struct message){0};
    return false;
}

bool compiler_ask(struct message *request, struct message *reply) {
    *reply = (struct message){0};
    if (request->failed) return false;
    bool answered = false;
    pthread_mutex_lock(&compiler.lock);
    /* One that has died gets a successor, once. */
    for (int attempt = 0; attempt < 2 && !answered; attempt++) {
        if (compiler.socket < 0 && !start()) break;
        answered = exchange(request, reply);
        if (!answered) stop();
    }
    pthread_mutex_unlock(&compiler.lock);
    return answered;
}
