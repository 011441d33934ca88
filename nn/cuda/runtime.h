// What the host asks of a CUDA device: memory, copies, an order of work. Two implementations with the same
// behaviour: nn/cuda/device (the CUDA runtime) and nn/cuda/host (memory and threads of this process, for
// tests). A program is linked with one of them.
//
// Everything but allocation goes through a Stream and happens later, in order: a host that looks before it
// has waited sees old numbers. The host twin makes that certain: its streams do nothing until somebody
// waits.
//
// All objects belong to the device that was chosen (use_device) by the thread that made them, and to one
// thread at a time. Whatever the device refuses is thrown as Failure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/error.h"

namespace steelyard::nn::cuda {

// Not enough memory on the device: `bytes` more were asked for. A smaller micro-batch may fit.
class OutOfMemory : public Failure {
 public:
  OutOfMemory(std::uint64_t bytes, std::uint64_t free);
};

// For this thread, from now on. Throws Failure (configuration) if there is none of this number.
void use_device(unsigned index);

// Of this thread's device, of all processes.
std::uint64_t free_bytes();

// How often this thread took memory, or may have waited for the device, since it began: what a round in
// steady state does shows in the difference.
struct Calls {
  std::uint64_t allocations = 0;   // on the device, and of pinned memory
  std::uint64_t stream_waits = 0;  // Stream::synchronize()
  std::uint64_t event_waits = 0;   // Event::synchronize()
};
Calls& calls_of_this_thread();

// Bytes on the device: not initialised (NaN in the host twin).
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

// Bytes of the host that the device can copy from and to while both work.
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

// An array of plain numbers in either.
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

  // From one place of the device, or of pinned memory, to another of either.
  void copy(void* to, const void* from, std::uint64_t bytes);
  void fill_zero(void* to, std::uint64_t bytes);
  template <class T>
  void copy_array(T* to, const T* from, std::uint64_t size) {
    copy(to, from, size * sizeof(T));
  }

  // What is added from now on happens after the event.
  void wait(const Event& event);
  // Blocks until all that was added has happened. Throws Failure if the device could not do it.
  void synchronize();
  // Whether all has happened. Never blocks. (The host twin does the next piece of work first.)
  [[nodiscard]] bool idle();

  // From begin_capture() on work is only noted, also that of streams which wait for an event of this one;
  // end_capture() gives it back as one thing that run() adds as a whole. Addresses and numbers are those of
  // the capture.
  void begin_capture();
  std::unique_ptr<Graph> end_capture();
  void run(const Graph& graph);

  // Of the host twin only.
  void add(std::function<void()> work);

  struct Impl;
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A place in the work of a stream.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  // Blocks until all work before it has happened.
  void synchronize() const;
  // Between two events that have happened; the device's own clock.
  [[nodiscard]] static double seconds(const Event& from, const Event& to);

  struct Impl;
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Work that was captured.
class Graph {
 public:
  struct Impl;
  explicit Graph(std::unique_ptr<Impl> impl);
  ~Graph();
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace steelyard::nn::cuda
