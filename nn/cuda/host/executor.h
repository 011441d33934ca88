// Executor: runs CUDA kernels on the CPU, so that they can be tested, debugged and sanitized where there is
// no GPU. A kernel is an ordinary function here; each of its CUDA threads is a fiber.
//
// Blocks run one after the other on the calling thread. Threads of a block take turns where they wait for
// each other: at __syncthreads, and lanes of a warp at shuffles and __syncwarp. Between two such places a
// thread runs ahead as far as it can, so a kernel without barriers costs no switch at all, and one that
// lacks a barrier goes wrong. What a GPU leaves open is chosen by the schedule.
//
// The block's shared memory is on the heap, as large as asked for to the byte, and full of NaN in the
// beginning. Under address sanitizer a read beyond it is reported; under thread sanitizer each CUDA thread
// is a thread, and what two of them touch without a barrier between is reported as a race.
//
// A kernel that cannot work ends the process with a message: a barrier that not all threads of a block
// reach, a launch beyond the limits of the hardware, more shared memory than a block has.
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

namespace steelyard::nn::cuda::host {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  constexpr Extent(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT
  [[nodiscard]] constexpr std::uint64_t volume() const { return std::uint64_t{x} * y * z; }
};

// In which order blocks run, and threads of a block.
enum class Schedule : std::uint8_t { forward, reverse, random };

// Where the running CUDA thread is: threadIdx and its like.
struct Here {
  Extent thread, block, block_extent, grid_extent;
};

class Executor {
 public:
  // That of the calling thread.
  static Executor& mine();

  Executor();
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void choose(Schedule schedule, std::uint64_t seed = 1);

  // Calls `kernel` once for each thread of each block.
  void run(Extent grid, Extent block, const std::function<void()>& kernel);

  // ---- for the kernel that runs

  void barrier(const std::source_location& where);
  // Lanes of the caller's warp meet. Each leaves a value and may then look at those of all.
  void meet(std::uint64_t value, const std::source_location& where);
  [[nodiscard]] std::uint64_t look(unsigned lane) const;
  [[nodiscard]] unsigned lane() const;
  // The block's array of this name, made by the first of its threads that asks.
  void* shared(const void* name, std::size_t bytes);

  // ---- for tests of kernels

  // Where the barriers are that were reached since the last call: "file:line".
  std::vector<std::string> take_barriers();
  // From now on threads walk through this barrier. Empty: none.
  void leave_out(std::string barrier);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern thread_local const Here* here;

// How much memory the device of the executor has, for all threads of this process; 0: as much as there is.
// Tests make it small to see what running out of it does.
void limit_memory(std::uint64_t bytes);
[[nodiscard]] std::uint64_t used_memory();

}  // namespace steelyard::nn::cuda::host
