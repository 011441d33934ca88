// The device of the host executor: its memory and streams, and replacements for the libraries of real
// devices.
#include "nn/cuda/runtime.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/time.h"
#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/context.h"
#include "nn/cuda/host/executor.h"
#include "nn/cuda_devices.h"

namespace steelyard::nn::cuda {
namespace {

using Work = std::function<void()>;

// Work of a stream runs on whatever thread waits for it, also through an event of another thread's stream.
// One piece of work runs at a time. Recursive: work may wait for other streams.
std::recursive_mutex one_at_a_time;

std::atomic<std::uint64_t> memory_limit{0}, memory_used{0};
thread_local host::Faults planted;

// Work recorded by a capture, from all streams involved; open until it ends.
struct Capture {
  std::vector<Work> work;
  bool open = true;
};

void* allocate(std::uint64_t bytes) {
  void* const memory = ::operator new (bytes, std::align_val_t{256});
  std::memset(memory, 0xFF, bytes);  // NaN
  return memory;
}
void release(void* memory) {
  if (memory != nullptr) ::operator delete (memory, std::align_val_t{256});
}

}  // namespace

void use_device(unsigned index) {
  if (index != 0) {
    throw Failure(ExitCode::configuration, "there is one device in the host executor, host-cuda");
  }
}

Calls& calls_of_this_thread() {
  static thread_local Calls calls;
  return calls;
}

// ---- memory

void host::limit_memory(std::uint64_t bytes) { memory_limit = bytes; }
std::uint64_t host::used_memory() { return memory_used; }

void host::plant(Faults faults) { planted = faults; }

std::uint64_t free_bytes() {
  const std::uint64_t all = memory_limit, taken = memory_used;
  if (all == 0) return UINT64_MAX;
  return all > taken ? all - taken : 0;
}

DeviceMemory::DeviceMemory(std::uint64_t bytes) : bytes_(bytes) {
  ++calls_of_this_thread().allocations;
  if (bytes > free_bytes()) throw OutOfMemory(bytes, free_bytes());
  data_ = allocate(bytes);
  memory_used += bytes;
}
DeviceMemory::~DeviceMemory() {
  release(data_);
  if (data_ != nullptr) memory_used -= bytes_;
}

PinnedMemory::PinnedMemory(std::uint64_t bytes) : data_(allocate(bytes)), bytes_(bytes) {
  ++calls_of_this_thread().allocations;
}
PinnedMemory::~PinnedMemory() { release(data_); }

// ---- streams: lists of work that is done only when a caller waits for it

// Any thread.
struct Queue {
  std::deque<Work> work;
  std::uint64_t done = 0;

  [[nodiscard]] std::uint64_t added() const {
    const std::lock_guard lock(one_at_a_time);
    return done + work.size();
  }
  void add(Work next) {
    const std::lock_guard lock(one_at_a_time);
    work.push_back(std::move(next));
  }
  void run_to(std::uint64_t end) {
    while (run_one(end)) {
    }
  }
  // Does the next piece of work, if it is before `end`. Returns whether it did.
  bool run_one(std::uint64_t end) {
    const std::lock_guard lock(one_at_a_time);
    if (done >= end) return false;
    const Work next = std::move(work.front());
    work.pop_front();
    ++done;
    next();
    return true;
  }
};

struct Stream::Impl {
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  std::shared_ptr<Capture> capture;
};

struct Event::Impl {
  std::shared_ptr<Queue> queue;
  std::uint64_t place = 0;  // in the queue
  std::shared_ptr<Capture> capture;
  std::shared_ptr<Time> time = std::make_shared<Time>();
};

struct Graph::Impl {
  std::vector<Work> work;
};

Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::~Graph() = default;

Stream::Stream() : impl_(std::make_unique<Impl>()) {}
Stream::~Stream() { impl_->queue->run_to(impl_->queue->added()); }

void Stream::add(Work work) {
  if (planted.failing_call > 0 && --planted.failing_call == 0)
    raise(planted.trouble, "a call of the host executor fails");
  if (planted.refuses_captures && impl_->capture && impl_->capture->open)
    throw Failure(ExitCode::failed, "a call of the host executor is refused in a capture");
  if (impl_->capture && impl_->capture->open) {
    impl_->capture->work.push_back(std::move(work));
  } else {
    impl_->queue->add(std::move(work));
  }
}

void Stream::copy(void* to, const void* from, std::uint64_t bytes) {
  add([=] { std::memmove(to, from, bytes); });
}

void Stream::fill_zero(void* to, std::uint64_t bytes) {
  add([=] { std::memset(to, 0, bytes); });
}

void Stream::wait(const Event& event) {
  const Event::Impl& of = event.impl();
  if (of.capture && of.capture->open) {
    impl_->capture = of.capture;  // its recorded work is already in order
  } else if (of.queue && of.queue != impl_->queue) {
    add([queue = of.queue, place = of.place] { queue->run_to(place); });
  }
}

void Stream::synchronize() {
  ++calls_of_this_thread().stream_waits;
  CHECK(!impl_->capture || !impl_->capture->open, "a stream that is being captured cannot be waited for");
  impl_->queue->run_to(impl_->queue->added());
}

bool Stream::idle() {
  CHECK(!impl_->capture || !impl_->capture->open, "a stream that is being captured cannot be asked");
  Queue& queue = *impl_->queue;
  const std::lock_guard lock(one_at_a_time);
  queue.run_one(queue.added());
  return queue.work.empty();
}

void Stream::begin_capture() {
  CHECK(!impl_->capture || !impl_->capture->open, "a stream is captured twice at a time");
  impl_->capture = std::make_shared<Capture>();
}

std::unique_ptr<Graph> Stream::end_capture() {
  CHECK(impl_->capture && impl_->capture->open, "a stream ends a capture that it did not begin");
  impl_->capture->open = false;
  auto graph = std::make_unique<Graph::Impl>();
  graph->work = std::move(impl_->capture->work);
  return std::make_unique<Graph>(std::move(graph));
}

void Stream::abandon_capture() noexcept {
  if (!impl_->capture) return;
  impl_->capture->open = false;
  impl_->capture->work.clear();
}

void Stream::run(const Graph& graph) {
  for (const Work& work : graph.impl().work) add(work);
}

Event::Event() : impl_(std::make_unique<Impl>()) {}
Event::~Event() = default;

void Event::record(Stream& stream) {
  stream.add([time = impl_->time] { *time = steady_now(); });
  const Stream::Impl& of = stream.impl();
  impl_->capture = of.capture && of.capture->open ? of.capture : nullptr;
  impl_->queue = of.queue;
  impl_->place = of.queue->added();
}

void Event::synchronize() const {
  ++calls_of_this_thread().event_waits;
  if (impl_->queue) impl_->queue->run_to(impl_->place);
}

double Event::seconds(const Event& from, const Event& to) {
  return steelyard::seconds(*to.impl().time - *from.impl().time);
}

// ---- our own kernels in place of libraries

struct Products::Impl {
  Stream& stream;
};

Products::Products(Stream& stream, Precision) : impl_(std::make_unique<Impl>(Impl{stream})) {}
Products::~Products() = default;

void Products::multiply(const Product& product) { tiled_product(impl_->stream, product); }

const char* Products::implementation() const { return "tiled"; }

std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place, const Context& context) {
  return make_direct_conv2d(op, place, context);
}

}  // namespace steelyard::nn::cuda

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() { return {}; }
std::unique_ptr<GpuMonitor> monitor_of(unsigned) { return nullptr; }
bool built_with_cuda() { return false; }
bool built_with_host_cuda() { return true; }

}  // namespace steelyard::nn
