// The interface to a CUDA device: memory, copies, and ordered work. Two implementations with the same
// behaviour: nn/cuda/device (the CUDA runtime) and nn/cuda/host (memory and threads of this process, for
// tests). A program is linked with one of them.
//
// Everything but allocation goes through a Stream and is done later, in order: a caller that reads before it
// has waited may see old values. With the host implementation it always does, because streams run only while
// a caller waits.
//
// All objects belong to the device selected (use_device) by the thread that made them, and to one thread at a
// time; but a stream may wait for an event of another thread's stream, once that has recorded it. Errors of
// the device are thrown as Failure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"

namespace steelyard::nn::cuda {

// Not enough memory on the device for `bytes` more. A smaller micro-batch may fit.
class OutOfMemory : public Failure {
 public:
  OutOfMemory(std::uint64_t bytes, std::uint64_t free);
  explicit OutOfMemory(const std::string& message);  // reported by a library
};

// Selects the device of this thread. Throws Failure (configuration) if it does not exist.
void use_device(unsigned index);

// Free memory of this thread's device, over all processes.
std::uint64_t free_bytes();

// How often this thread has allocated memory or may have waited for the device. The differences show the cost
// of a round in steady state.
struct Calls {
  std::uint64_t allocations = 0;   // on the device, and of pinned memory; registrations
  std::uint64_t stream_waits = 0;  // Stream::synchronize()
  std::uint64_t event_waits = 0;   // Event::synchronize()
};
Calls& calls_of_this_thread();

// Device memory, not initialised (NaN in the host implementation).
class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Host memory that the device can copy from and to asynchronously.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::uint64_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Memory of the host that belongs to others, and which the device can copy from, and to if it is writable, as
// if it were pinned while this object lives. The memory must outlive it; each byte has at most one.
class HostRegistration {
 public:
  // Null if the system or the device refuses. Any device of this process can then use the memory.
  static std::unique_ptr<HostRegistration> make(const void* data, std::uint64_t bytes, bool writable);
  ~HostRegistration();
  HostRegistration(const HostRegistration&) = delete;
  HostRegistration& operator=(const HostRegistration&) = delete;

 private:
  explicit HostRegistration(const void* data, int device) : data_(data), device_(device) {}

  const void* data_;
  int device_;  // that registered it
};

// An array of plain numbers in either memory.
template <class T, class Kind>
class Array {
 public:
  explicit Array(std::uint64_t size) : memory_(size * sizeof(T)), size_(size) {}
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  Kind memory_;
  std::uint64_t size_;
};
template <class T>
using DeviceArray = Array<T, DeviceMemory>;
template <class T>
using PinnedArray = Array<T, PinnedMemory>;

class Event;
class Graph;

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Copies between any two places of device, pinned or registered memory, which must stay so until the copy
  // is done. (The host implementation ends the process if they do not.) Other memory of the host is possible,
  // too, but may block until the copy is done.
  void copy(void* to, const void* from, std::uint64_t bytes);
  void fill_zero(void* to, std::uint64_t bytes);
  template <class T>
  void copy_array(T* to, const T* from, std::uint64_t size) {
    copy(to, from, size * sizeof(T));
  }

  // Work added from now on waits for the event.
  void wait(const Event& event);
  // Blocks until all added work is done. Throws Failure if the device failed.
  void synchronize();
  // Whether all work is done. Never blocks. (The host implementation first does the next piece of work.)
  [[nodiscard]] bool idle();

  // Between begin_capture() and end_capture() work is only recorded, including that of streams that wait for
  // an event of this one. end_capture() returns the recording; run() adds it as a whole. Addresses and
  // numbers are those of the capture.
  void begin_capture();
  std::unique_ptr<Graph> end_capture();
  void run(const Graph& graph);
  // After a call that failed in a capture: ends it and drops what it recorded. All streams of the capture can
  // be used again.
  void abandon_capture() noexcept;

  // Host implementation only.
  void add(std::function<void()> work);

  struct Impl;
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A point in the work of a stream.
//
// In a capture, an event orders the captured work alone: it becomes an edge of the graph. An event with reach
// `outside` connects the graph with streams that are not captured: each run of the graph records it anew, or
// waits for what was recorded before that run was added. Its times are not measured.
class Event {
 public:
  enum class Reach : std::uint8_t { capture, outside };

  explicit Event(Reach reach = Reach::capture);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  // Blocks until all work before it is done.
  void synchronize() const;
  // Between two events that have occurred; by the device's clock.
  [[nodiscard]] static double seconds(const Event& from, const Event& to);

  struct Impl;
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Captured work.
class Graph {
 public:
  struct Impl;
  explicit Graph(std::unique_ptr<Impl> impl);
  ~Graph();
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The work that `add` adds to the stream, as a graph. If a call in it fails (a library may do what no capture
// allows), the graph is null and `refusal` the error: the work must then be added without one. Throws
// OutOfMemory.
struct Captured {
  std::unique_ptr<Graph> graph;
  std::string refusal{};
};
[[nodiscard]] Captured capture(Stream& stream, const std::function<void()>& add);

}  // namespace steelyard::nn::cuda
