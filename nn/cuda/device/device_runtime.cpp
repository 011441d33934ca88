#include "nn/cuda/runtime.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "core/check.h"
#include "core/time.h"
#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/device/native.h"
#include "nn/cuda_devices.h"

namespace steelyard::nn::cuda {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  const bool memory = error == cudaErrorMemoryAllocation;
  if (memory) cudaGetLastError();  // clears the error, or it would be reported again
  raise(memory ? Trouble::memory : Trouble::other,
        std::string("the CUDA device cannot ") + what + ": " + cudaGetErrorString(error) + " (" +
            cudaGetErrorName(error) + "); `nvidia-smi` shows its state");
}
void check_launch() { check(cudaGetLastError(), "start a kernel"); }

void use_device(unsigned index) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  if (std::cmp_greater_equal(index, count)) {
    throw Failure(ExitCode::configuration, "there is no device cuda:" + std::to_string(index) +
                                               ": this machine has " + std::to_string(count) +
                                               " CUDA devices (`steelyard devices` lists them)");
  }
  check(cudaSetDevice(static_cast<int>(index)), "be chosen");
}

Calls& calls_of_this_thread() {
  static thread_local Calls calls;
  return calls;
}

std::uint64_t free_bytes() {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "report its memory");
  return free;
}

DeviceMemory::DeviceMemory(std::uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  ++calls_of_this_thread().allocations;
  const cudaError_t error = cudaMalloc(&data_, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears the error, or it would be reported again
    throw OutOfMemory(bytes, free_bytes());
  }
  check(error, "give memory");
}
DeviceMemory::~DeviceMemory() { cudaFree(data_); }

PinnedMemory::PinnedMemory(std::uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  ++calls_of_this_thread().allocations;
  check(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault), "share memory of the host");
}
PinnedMemory::~PinnedMemory() { cudaFreeHost(data_); }

std::unique_ptr<HostRegistration> HostRegistration::make(const void* data, std::uint64_t bytes,
                                                         bool writable) {
  int device = 0, read_only = 1;
  check(cudaGetDevice(&device), "be named");
  if (!writable) {
    check(cudaDeviceGetAttribute(&read_only, cudaDevAttrHostRegisterReadOnlySupported, device),
          "report its properties");
  }
  ++calls_of_this_thread().allocations;
  const unsigned flags = cudaHostRegisterPortable | (writable ? 0U : cudaHostRegisterReadOnly);
  if (read_only == 0 || cudaHostRegister(const_cast<void*>(data), bytes, flags) != cudaSuccess) {
    cudaGetLastError();  // clears the error, or it would be reported again
    return nullptr;
  }
  return std::unique_ptr<HostRegistration>(new HostRegistration(data, device));
}
// On a thread that has chosen no device, CUDA would initialise device 0, which takes hundreds of MB there.
HostRegistration::~HostRegistration() {
  cudaSetDevice(device_);
  cudaHostUnregister(const_cast<void*>(data_));
  cudaGetLastError();  // at the end of the process the driver may be gone
}

struct Stream::Impl {
  cudaStream_t stream = nullptr;
};
struct Event::Impl {
  cudaEvent_t event = nullptr;
  bool outside = false;
};
struct Graph::Impl {
  cudaGraphExec_t graph = nullptr;
};

cudaStream_t native(const Stream& stream) { return stream.impl().stream; }

Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::~Graph() { cudaGraphExecDestroy(impl_->graph); }

Stream::Stream() : impl_(std::make_unique<Impl>()) {
  check(cudaStreamCreateWithFlags(&impl_->stream, cudaStreamNonBlocking), "make a stream");
}
Stream::~Stream() { cudaStreamDestroy(impl_->stream); }

void Stream::copy(void* to, const void* from, std::uint64_t bytes) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, impl_->stream), "copy");
}
void Stream::fill_zero(void* to, std::uint64_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(to, 0, bytes, impl_->stream), "fill memory");
}

namespace {

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &state), "report a capture");
  return state != cudaStreamCaptureStatusNone;
}

}  // namespace

// CUDA refuses the flags for events of graphs outside of captures.
void Stream::wait(const Event& event) {
  const bool of_graph = event.impl().outside && capturing(impl_->stream);
  check(cudaStreamWaitEvent(impl_->stream, event.impl().event,
                            of_graph ? cudaEventWaitExternal : cudaEventWaitDefault),
        "wait for an event");
}
void Stream::synchronize() {
  ++calls_of_this_thread().stream_waits;
  check(cudaStreamSynchronize(impl_->stream), "complete its work");
}
bool Stream::idle() {
  const cudaError_t state = cudaStreamQuery(impl_->stream);
  if (state == cudaErrorNotReady) return false;
  check(state, "complete its work");
  return true;
}

void Stream::begin_capture() {
  check(cudaStreamBeginCapture(impl_->stream, cudaStreamCaptureModeThreadLocal), "capture work");
}
// After an error CUDA may still hand over a graph.
void Stream::abandon_capture() noexcept {
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  cudaGraph_t captured = nullptr;
  if (cudaStreamIsCapturing(impl_->stream, &state) != cudaSuccess || state != cudaStreamCaptureStatusNone)
    cudaStreamEndCapture(impl_->stream, &captured);
  if (captured != nullptr) cudaGraphDestroy(captured);
  cudaGetLastError();  // clears the error, or the next launch would report it
}
std::unique_ptr<Graph> Stream::end_capture() {
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(impl_->stream, &captured), "capture work");
  auto graph = std::make_unique<Graph::Impl>();
  const cudaError_t error = cudaGraphInstantiate(&graph->graph, captured, 0);
  cudaGraphDestroy(captured);
  check(error, "make a graph of the work");
  return std::make_unique<Graph>(std::move(graph));
}
void Stream::run(const Graph& graph) {
  check(cudaGraphLaunch(graph.impl().graph, impl_->stream), "run a graph");
}

void Stream::add(std::function<void()>) { CHECK(false, "a function of the host does not run on a device"); }

Event::Event(Reach reach) : impl_(std::make_unique<Impl>()) {
  impl_->outside = reach == Reach::outside;
  const unsigned flags = impl_->outside ? cudaEventDisableTiming : cudaEventDefault;
  check(cudaEventCreateWithFlags(&impl_->event, flags), "make an event");
}
Event::~Event() { cudaEventDestroy(impl_->event); }

void Event::record(Stream& stream) {
  const bool of_graph = impl_->outside && capturing(stream.impl().stream);
  check(cudaEventRecordWithFlags(impl_->event, stream.impl().stream,
                                 of_graph ? cudaEventRecordExternal : cudaEventRecordDefault),
        "record an event");
}
// An event that was never recorded counts as done. Queries take a core, so after some time it sleeps between
// them: cudaEventSynchronize() would keep the core for the whole wait.
void Event::synchronize() const {
  using namespace std::chrono_literals;
  ++calls_of_this_thread().event_waits;
  const Time begin = steady_now();
  cudaError_t state = cudaSuccess;
  while ((state = cudaEventQuery(impl_->event)) == cudaErrorNotReady) {
    if (steady_now() - begin > 1ms) std::this_thread::sleep_for(30us);
  }
  check(state, "complete its work");
}

double Event::seconds(const Event& from, const Event& to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.impl().event, to.impl().event), "measure a time");
  return milliseconds * 1e-3;
}

}  // namespace steelyard::nn::cuda

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};  // no driver, or no device
  std::vector<CudaDevice> devices;
  std::vector<std::string> buses;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    std::array<char, 32> bus{};
    // The number of a device is its place in the list, so none may be skipped.
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus.data(), bus.size(), device) != cudaSuccess) {
      devices.push_back({"unknown", 0});
      buses.emplace_back();
      continue;
    }
    devices.push_back({properties.name, properties.totalGlobalMem, static_cast<unsigned>(properties.major),
                       static_cast<unsigned>(properties.minor)});
    buses.emplace_back(bus.data());
  }
  if (const auto nvml = load_nvml()) {
    const auto states = gpu_states(*nvml, buses);
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i].state = states[i];
  }
  return devices;
}

std::unique_ptr<GpuMonitor> monitor_of(unsigned device) {
  std::array<char, 32> bus{};
  const auto nvml = load_nvml();
  if (!nvml || cudaDeviceGetPCIBusId(bus.data(), bus.size(), static_cast<int>(device)) != cudaSuccess)
    return nullptr;
  return GpuMonitor::open(*nvml, bus.data(), static_cast<unsigned>(getpid()));
}

bool built_with_cuda() { return true; }
bool built_with_host_cuda() { return false; }

}  // namespace steelyard::nn
