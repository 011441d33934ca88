// A driver (libcuda.so.1) of a machine without devices. cuDNN compiles kernels for a described device only if
// it finds one, with all functions that it looks up; it loads no kernel then.
namespace {

constexpr int success = 0, no_device = 100;

int give(void** handle) {
  static int something;
  *handle = &something;
  return success;
}
int give(int* number, int value) {
  *number = value;
  return success;
}

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) { return no_device; }
int cuDriverGetVersion(int* version) { return give(version, 13000); }
int cuDeviceGetCount(int* count) { return give(count, 0); }
int cuGetErrorName(int /*error*/, const char** name) {
  *name = "error";
  return success;
}
int cuGetErrorString(int error, const char** text) { return cuGetErrorName(error, text); }

int cuLibraryLoadData(void** library, ...) { return give(library); }
int cuLibraryGetKernel(void** kernel, ...) { return give(kernel); }
int cuKernelGetFunction(void** function, ...) { return give(function); }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, ...) { return give(blocks, 1); }
int cuOccupancyMaxPotentialClusterSize(int* size, ...) { return give(size, 1); }

#define STEELYARD_NO_WORK(name) \
  int name(...) { return success; }
STEELYARD_NO_WORK(cuCtxGetCurrent)
STEELYARD_NO_WORK(cuCtxGetLimit)
STEELYARD_NO_WORK(cuCtxPopCurrent)
STEELYARD_NO_WORK(cuCtxPushCurrent)
STEELYARD_NO_WORK(cuDeviceGet)
STEELYARD_NO_WORK(cuFuncSetAttribute)
STEELYARD_NO_WORK(cuKernelGetAttribute)
STEELYARD_NO_WORK(cuKernelSetAttribute)
STEELYARD_NO_WORK(cuLaunchCooperativeKernel)
STEELYARD_NO_WORK(cuLaunchKernel)
STEELYARD_NO_WORK(cuLaunchKernelEx)
STEELYARD_NO_WORK(cuLibraryLoadFromFile)
STEELYARD_NO_WORK(cuLibraryUnload)
STEELYARD_NO_WORK(cuLinkAddData)
STEELYARD_NO_WORK(cuLinkComplete)
STEELYARD_NO_WORK(cuLinkCreate)
STEELYARD_NO_WORK(cuLinkDestroy)
STEELYARD_NO_WORK(cuStreamGetCtx)
}
