#include <cuda.h>

#include <bit>

#include "nn/cuda/device/native.h"
#include "nn/cuda/named_memory.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {
namespace {

// Whether a call succeeded that may be refused.
bool succeeded(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();  // clears the error, or it would be reported again
  return error == cudaSuccess;
}

// The bytes from `data` to the end of its allocation. The runtime cannot tell; 0 if the driver cannot either.
std::uint64_t bytes_from(const void* data) {
  void* function = nullptr;
  auto found = cudaDriverEntryPointSymbolNotFound;
  if (!succeeded(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 3020, cudaEnableDefault,
                                                  &found)) ||
      found != cudaDriverEntryPointSuccess)
    return 0;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  const auto place = reinterpret_cast<CUdeviceptr>(data);
  const auto range_of = reinterpret_cast<decltype(&cuMemGetAddressRange)>(function);
  return range_of(&base, &size, place) == CUDA_SUCCESS && base <= place && place - base <= size
             ? size - (place - base)
             : 0;
}

}  // namespace

unsigned used_device() {
  int device = 0;
  check(cudaGetDevice(&device), "be named");
  return static_cast<unsigned>(device);
}

// In a container the driver may refuse the name.
NamedMemory NamedMemory::make(std::uint64_t bytes) {
  static_assert(sizeof(DevicePlace::Name) == sizeof(cudaIpcMemHandle_t));
  NamedMemory made;
  DeviceMemory memory(bytes);
  cudaIpcMemHandle_t handle{};
  if (succeeded(cudaIpcGetMemHandle(&handle, memory.data())))
    made.name = std::bit_cast<DevicePlace::Name>(handle);
  made.bytes = bytes;
  made.data = (new DeviceMemory(std::move(memory)))->data();  // for ever
  return made;
}

std::unique_ptr<OpenedMemory> OpenedMemory::open(const DevicePlace::Name& name, std::uint64_t bytes) {
  void* data = nullptr;
  const auto handle = std::bit_cast<cudaIpcMemHandle_t>(name);
  if (!succeeded(cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess))) return nullptr;
  std::unique_ptr<OpenedMemory> opened(new OpenedMemory(data, bytes, nullptr));
  return bytes_from(data) >= bytes ? std::move(opened) : nullptr;
}
// On a thread that has chosen no device, CUDA would initialise device 0, which takes hundreds of MB there.
OpenedMemory::~OpenedMemory() {
  cudaSetDevice(static_cast<int>(device_));
  cudaIpcCloseMemHandle(const_cast<void*>(data_));
  cudaGetLastError();  // at the end of the process the driver may be gone
}

}  // namespace steelyard::nn::cuda
