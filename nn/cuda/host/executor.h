// Executor: runs CUDA kernels on the CPU, so that they can be tested, debugged and sanitized without a GPU. A
// kernel is an ordinary function here; each of its CUDA threads is a fiber.
//
// Blocks run one after the other on the calling thread. Threads of a block switch where they wait for each
// other: at __syncthreads, and lanes of a warp at shuffles and __syncwarp. Between two such points a thread
// runs as far as it can, so a kernel without barriers costs no switch, and one that lacks a barrier gives
// wrong results. Orders that a GPU leaves unspecified are chosen by the schedule.
//
// The block's shared memory is on the heap, of exactly the requested size, and initially filled with NaN. The
// address sanitizer reports reads beyond it; under the thread sanitizer each CUDA thread is a thread, and
// accesses by two of them without a barrier in between are reported as a race.
//
// An invalid kernel ends the process with a message: a barrier that not all threads of a block reach, a
// launch beyond the limits of the hardware, more shared memory than a block has.
//
// An executor belongs to one thread of the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "nn/cuda/algorithm_choice.h"

namespace steelyard::nn::cuda::host {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  constexpr Extent(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT
  [[nodiscard]] constexpr std::uint64_t volume() const { return std::uint64_t{x} * y * z; }
};

// The order in which blocks, and threads of a block, run.
enum class Schedule : std::uint8_t { forward, reverse, random };

// The position of the running CUDA thread: threadIdx and the like.
struct Here {
  Extent thread, block, block_extent, grid_extent;
};

class Executor {
 public:
  // The executor of the calling thread.
  static Executor& mine();

  Executor();
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void choose(Schedule schedule, std::uint64_t seed = 1);

  // Calls `kernel` once for each thread of each block.
  void run(Extent grid, Extent block, const std::function<void()>& kernel);

  // ---- for the running kernel

  void barrier(const std::source_location& where);
  // Lanes of the caller's warp meet. Each passes a value and may then read those of all.
  void meet(std::uint64_t value, const std::source_location& where);
  [[nodiscard]] std::uint64_t look(unsigned lane) const;
  [[nodiscard]] unsigned lane() const;
  // The block's array of this name, made by the first thread that asks for it.
  void* shared(const void* name, std::size_t bytes);

  // ---- for tests of kernels

  // The barriers reached since the last call, as "file:line".
  std::vector<std::string> take_barriers();
  // From now on threads ignore this barrier. Empty: none.
  void leave_out(std::string barrier);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern thread_local const Here* here;

// Limits the memory of the executor's device, for all threads of this process; 0: no limit. Tests use a small
// limit to run out of memory.
void limit_memory(std::uint64_t bytes);
[[nodiscard]] std::uint64_t used_memory();
// Whether memory can be registered with the executor's device, for all threads. By default it can.
void refuse_registrations(bool refused);

// Errors of this thread's device, for tests. A call is one that adds work to a stream.
struct Faults {
  bool refuses_captures = false;   // calls in a capture fail, as those of a library that may not be captured
  std::uint64_t failing_call = 0;  // this one, counted from 1, fails, and no later one; 0: none
  Trouble trouble = Trouble::memory;
};
void plant(Faults faults);

}  // namespace steelyard::nn::cuda::host
