// The device of the host executor: its streams, and replacements for the libraries of real
// devices.
#include "nn/cuda/runtime.h"

#include <cstring>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/time.h"
#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/context.h"
#include "nn/cuda/host/executor.h"
#include "nn/cuda/host/host_memory.h"
#include "nn/cuda_devices.h"

namespace steelyard::nn::cuda {
namespace {

using Work = std::function<void()>;

// Work of a stream runs on whatever thread waits for it, also through an event of another thread's stream.
// One piece of work runs at a time. Recursive: work may wait for other streams.
std::recursive_mutex one_at_a_time;

thread_local host::Faults planted;

// Work recorded by a capture, from all streams involved; open until it ends. Each entry adds itself to the
// stream that runs the graph.
using Recording = std::vector<std::function<void(Stream&)>>;
struct Capture {
  Recording work;
  bool open = true;
};

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

void host::plant(Faults faults) { planted = faults; }

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

// Where an event was recorded last. Graphs share it.
struct Recorded {
  std::shared_ptr<Queue> queue;
  std::uint64_t place = 0;  // in the queue
  Time time{};
};

struct Event::Impl {
  bool outside = false;
  std::shared_ptr<Recorded> last = std::make_shared<Recorded>();
  std::shared_ptr<Capture> capture;  // that contains it
};

struct Graph::Impl {
  Recording work;
};

namespace {

bool capturing(const std::shared_ptr<Capture>& capture) { return capture && capture->open; }

void add_record(Stream& stream, const std::shared_ptr<Recorded>& last) {
  stream.add([last] { last->time = steady_now(); });
  last->queue = stream.impl().queue;
  last->place = last->queue->added();
}

void add_wait(Stream& stream, const Recorded& last) {
  if (last.queue && last.queue != stream.impl().queue)
    stream.add([queue = last.queue, place = last.place] { queue->run_to(place); });
}

}  // namespace

Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::~Graph() = default;

Stream::Stream() : impl_(std::make_unique<Impl>()) {}
Stream::~Stream() { impl_->queue->run_to(impl_->queue->added()); }

void Stream::add(Work work) {
  if (planted.failing_call > 0 && --planted.failing_call == 0)
    raise(planted.trouble, "a call of the host executor fails");
  if (planted.refuses_captures && capturing(impl_->capture))
    throw Failure(ExitCode::failed, "a call of the host executor is refused in a capture");
  if (capturing(impl_->capture)) {
    impl_->capture->work.emplace_back([work = std::move(work)](Stream& stream) { stream.add(work); });
  } else {
    impl_->queue->add(std::move(work));
  }
}

void Stream::copy(void* to, const void* from, std::uint64_t bytes) {
  add([=, copy = host::CheckedCopy(to, from, bytes)] {
    copy.check();
    std::memmove(to, from, bytes);
  });
}

void Stream::fill_zero(void* to, std::uint64_t bytes) {
  add([=] { std::memset(to, 0, bytes); });
}

void Stream::wait(const Event& event) {
  const Event::Impl& of = event.impl();
  if (of.outside && capturing(impl_->capture)) {
    impl_->capture->work.emplace_back([last = of.last](Stream& stream) { add_wait(stream, *last); });
  } else if (capturing(of.capture)) {
    impl_->capture = of.capture;  // its recorded work is already in order
  } else {
    add_wait(*this, *of.last);
  }
}

void Stream::synchronize() {
  ++calls_of_this_thread().stream_waits;
  CHECK(!capturing(impl_->capture), "a stream that is being captured cannot be waited for");
  impl_->queue->run_to(impl_->queue->added());
}

bool Stream::idle() {
  CHECK(!capturing(impl_->capture), "a stream that is being captured cannot be asked");
  Queue& queue = *impl_->queue;
  const std::lock_guard lock(one_at_a_time);
  queue.run_one(queue.added());
  return queue.work.empty();
}

void Stream::begin_capture() {
  CHECK(!capturing(impl_->capture), "a stream is captured twice at a time");
  impl_->capture = std::make_shared<Capture>();
}

std::unique_ptr<Graph> Stream::end_capture() {
  CHECK(capturing(impl_->capture), "a stream ends a capture that it did not begin");
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
  for (const auto& add_to : graph.impl().work) add_to(*this);
}

Event::Event(Reach reach) : impl_(std::make_unique<Impl>()) { impl_->outside = reach == Reach::outside; }
Event::~Event() = default;

void Event::record(Stream& stream) {
  const std::shared_ptr<Capture>& capture = stream.impl().capture;
  impl_->capture = capturing(capture) && !impl_->outside ? capture : nullptr;
  if (!capturing(capture)) {
    add_record(stream, impl_->last);
  } else if (impl_->outside) {
    capture->work.emplace_back([last = impl_->last](Stream& runner) { add_record(runner, last); });
  } else {
    stream.add([last = impl_->last] { last->time = steady_now(); });
  }
}

void Event::synchronize() const {
  ++calls_of_this_thread().event_waits;
  if (impl_->last->queue) impl_->last->queue->run_to(impl_->last->place);
}

double Event::seconds(const Event& from, const Event& to) {
  return steelyard::seconds(to.impl().last->time - from.impl().last->time);
}

// ---- our own kernels in place of libraries

struct Products::Impl {
  Stream& stream;
};

Products::Products(Stream& stream, Precision) : impl_(std::make_unique<Impl>(Impl{stream})) {}
Products::~Products() = default;

void Products::multiply(const Product<float>& product) { tiled_product(impl_->stream, product); }
void Products::multiply(const Product<Bf16>& product) { tiled_product(impl_->stream, product); }
void Products::multiply(const Product<Bf16, float>& product) { tiled_product(impl_->stream, product); }

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
