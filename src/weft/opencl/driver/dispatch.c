/* The table of functions that a loader of drivers calls, in the order that loaders know (cl_khr_icd).

   Functions for sharing objects with graphics interfaces are not there. */

#include <stddef.h>

#define MISSING_1 NONE
#define MISSING_15 NONE NONE NONE NONE NONE NONE NONE NONE NONE NONE NONE NONE NONE NONE NONE

#define FUNCTIONS                                                                                                    \
    ENTRY(clGetPlatformIDs) ENTRY(clGetPlatformInfo) ENTRY(clGetDeviceIDs) ENTRY(clGetDeviceInfo) \
    ENTRY(clCreateContext) ENTRY(clCreateContextFromType) ENTRY(clRetainContext) ENTRY(clReleaseContext) \
    ENTRY(clGetContextInfo) ENTRY(clCreateCommandQueue) ENTRY(clRetainCommandQueue) ENTRY(clReleaseCommandQueue) \
    ENTRY(clGetCommandQueueInfo) ENTRY(clSetCommandQueueProperty) ENTRY(clCreateBuffer) ENTRY(clCreateImage2D) \
    ENTRY(clCreateImage3D) ENTRY(clRetainMemObject) ENTRY(clReleaseMemObject) ENTRY(clGetSupportedImageFormats) \
    ENTRY(clGetMemObjectInfo) ENTRY(clGetImageInfo) ENTRY(clCreateSampler) ENTRY(clRetainSampler) \
    ENTRY(clReleaseSampler) ENTRY(clGetSamplerInfo) ENTRY(clCreateProgramWithSource) \
    ENTRY(clCreateProgramWithBinary) ENTRY(clRetainProgram) ENTRY(clReleaseProgram) ENTRY(clBuildProgram) \
    ENTRY(clUnloadCompiler) ENTRY(clGetProgramInfo) ENTRY(clGetProgramBuildInfo) ENTRY(clCreateKernel) \
    ENTRY(clCreateKernelsInProgram) ENTRY(clRetainKernel) ENTRY(clReleaseKernel) ENTRY(clSetKernelArg) \
    ENTRY(clGetKernelInfo) ENTRY(clGetKernelWorkGroupInfo) ENTRY(clWaitForEvents) ENTRY(clGetEventInfo) \
    ENTRY(clRetainEvent) ENTRY(clReleaseEvent) ENTRY(clGetEventProfilingInfo) ENTRY(clFlush) ENTRY(clFinish) \
    ENTRY(clEnqueueReadBuffer) ENTRY(clEnqueueWriteBuffer) ENTRY(clEnqueueCopyBuffer) ENTRY(clEnqueueReadImage) \
    ENTRY(clEnqueueWriteImage) ENTRY(clEnqueueCopyImage) ENTRY(clEnqueueCopyImageToBuffer) \
    ENTRY(clEnqueueCopyBufferToImage) ENTRY(clEnqueueMapBuffer) ENTRY(clEnqueueMapImage) \
    ENTRY(clEnqueueUnmapMemObject) ENTRY(clEnqueueNDRangeKernel) ENTRY(clEnqueueTask) ENTRY(clEnqueueNativeKernel) \
    ENTRY(clEnqueueMarker) ENTRY(clEnqueueWaitForEvents) ENTRY(clEnqueueBarrier) \
    ENTRY(clGetExtensionFunctionAddress) MISSING_15 ENTRY(clSetEventCallback) ENTRY(clCreateSubBuffer) \
    ENTRY(clSetMemObjectDestructorCallback) ENTRY(clCreateUserEvent) ENTRY(clSetUserEventStatus) \
    ENTRY(clEnqueueReadBufferRect) ENTRY(clEnqueueWriteBufferRect) ENTRY(clEnqueueCopyBufferRect) \
    ENTRY(clCreateSubDevices) ENTRY(clRetainDevice) ENTRY(clReleaseDevice) MISSING_1 ENTRY(clCreateSubDevices) \
    ENTRY(clRetainDevice) ENTRY(clReleaseDevice) ENTRY(clCreateImage) ENTRY(clCreateProgramWithBuiltInKernels) \
    ENTRY(clCompileProgram) ENTRY(clLinkProgram) ENTRY(clUnloadPlatformCompiler) ENTRY(clGetKernelArgInfo) \
    ENTRY(clEnqueueFillBuffer) ENTRY(clEnqueueFillImage) ENTRY(clEnqueueMigrateMemObjects) \
    ENTRY(clEnqueueMarkerWithWaitList) ENTRY(clEnqueueBarrierWithWaitList) \
    ENTRY(clGetExtensionFunctionAddressForPlatform) MISSING_15 ENTRY(clCreateCommandQueueWithProperties) \
    ENTRY(clCreatePipe) ENTRY(clGetPipeInfo) ENTRY(clSVMAlloc) ENTRY(clSVMFree) ENTRY(clEnqueueSVMFree) \
    ENTRY(clEnqueueSVMMemcpy) ENTRY(clEnqueueSVMMemFill) ENTRY(clEnqueueSVMMap) ENTRY(clEnqueueSVMUnmap) \
    ENTRY(clCreateSamplerWithProperties) ENTRY(clSetKernelArgSVMPointer) ENTRY(clSetKernelExecInfo) \
    ENTRY(clGetKernelSubGroupInfo) ENTRY(clCloneKernel) ENTRY(clCreateProgramWithIL) ENTRY(clEnqueueSVMMigrateMem) \
    ENTRY(clGetDeviceAndHostTimer) ENTRY(clGetHostTimer) ENTRY(clGetKernelSubGroupInfo) \
    ENTRY(clSetDefaultDeviceCommandQueue) ENTRY(clSetProgramReleaseCallback) \
    ENTRY(clSetProgramSpecializationConstant) ENTRY(clCreateBufferWithProperties) ENTRY(clCreateImageWithProperties) \
    ENTRY(clSetContextDestructorCallback)

/* Here only their addresses are of interest, so their types are not declared. */
#define ENTRY(name) void name(void);
#define NONE
FUNCTIONS
#undef ENTRY
#undef NONE

#define ENTRY(name) (const void *)name,
#define NONE NULL,
extern const void *const weft_dispatch[];
const void *const weft_dispatch[] = {FUNCTIONS};
#undef ENTRY
#undef NONE

extern const char *const weft_names[];
const char *const weft_names[] = {
#define ENTRY(name) #name,
#define NONE NULL,
    FUNCTIONS
};

extern const size_t weft_function_count;
const size_t weft_function_count = sizeof weft_dispatch / sizeof *weft_dispatch;
