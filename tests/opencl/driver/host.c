/* A host without Python and without a loader: finds the driver's functions by name and runs a kernel. */

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *handle;

static void *(*find)(const char *);

#define CALL(result, name, ...) ((result(*)())find(#name))(__VA_ARGS__)

int main(int count, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (count != 2 || !library) return puts(dlerror()), 1;
    find = (void *(*)(const char *))dlsym(library, "clGetExtensionFunctionAddress");
    handle platform, device, context, queue, program, kernel, memory;
    int error = 0, data[100], zero = 0;
    for (int i = 0; i < 100; i++) data[i] = i;
    CALL(int, clIcdGetPlatformIDsKHR, 1, &platform, NULL);
    CALL(int, clGetDeviceIDs, platform, (unsigned long)2, 1, &device, NULL);
    context = CALL(handle, clCreateContext, NULL, 1, &device, NULL, NULL, &error);
    queue = CALL(handle, clCreateCommandQueue, context, device, (unsigned long)0, &error);
    const char *source = "kernel void f(global int *x) { x[get_global_id(0)] *= 3; }";
    program = CALL(handle, clCreateProgramWithSource, context, 1, &source, NULL, &error);
    error = CALL(int, clBuildProgram, program, 0, NULL, NULL, NULL, NULL);
    if (error) return printf("build: %d\n", error), 1;
    kernel = CALL(handle, clCreateKernel, program, "f", &error);
    memory = CALL(handle, clCreateBuffer, context, (unsigned long)33, sizeof data, data, &error);
    error = CALL(int, clSetKernelArg, kernel, 0, sizeof memory, &memory);
    size_t size = 100;
    error |= CALL(int, clEnqueueNDRangeKernel, queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
    /* No sizes at all: nothing runs. */
    error |= CALL(int, clEnqueueNDRangeKernel, queue, kernel, 1, NULL, NULL, NULL, 0, NULL, NULL);
    error |= CALL(int, clEnqueueReadBuffer, queue, memory, 1, (size_t)0, sizeof data, data, 0, NULL, NULL);
    for (int i = 0; i < 100; i++) zero |= data[i] != 3 * i;
    /* What was released is no object any more. */
    CALL(int, clReleaseMemObject, memory);
    int stale = CALL(int, clRetainMemObject, memory), missing = CALL(int, clFinish, NULL);
    printf("%d %d %d %d\n", error, zero, stale, missing);
    return 0;
}
