/* What machine this is. */

#include "host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint32_t processor_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
    return 1;
}

size_t memory_bytes(void) { return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE); }

struct processor processor_read(void) {
    struct processor found = {"weft", 0};
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file) && *line != '\n') {
        char *colon = strchr(line, ':');
        if (!colon) continue;
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "model name", 10)) snprintf(found.name, sizeof found.name, "weft on %.110s", colon + 2);
        if (!strncmp(line, "cpu MHz", 7)) found.mhz = (uint32_t)strtod(colon + 1, NULL);
    }
    if (file) fclose(file);
    return found;
}

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
