// Fiber: a separate stack on the calling thread that runs until it suspends.
//
// Sanitizers are notified of each switch: the address sanitizer of the stack, the thread sanitizer of the
// Runner. To the thread sanitizer a Runner is a thread, and any number of them may take turns on one fiber.
// This file and the executor are therefore compiled with STEELYARD_RACES and without that sanitizer, which
// would otherwise watch the scheduling instead of the kernels.
#pragma once

#include <ucontext.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(STEELYARD_RACES)
#include <sanitizer/tsan_interface.h>
#endif

namespace steelyard::nn::cuda::host {

// Used by the sanitizer only.
class Runner {
 public:
#if defined(STEELYARD_RACES)
  Runner() : fiber_(__tsan_create_fiber(0)), own_(true) {}
  ~Runner() {
    if (own_) __tsan_destroy_fiber(fiber_);
  }
  static Runner caller() { return Runner(__tsan_get_current_fiber()); }
  void become() const { __tsan_switch_to_fiber(fiber_, __tsan_switch_to_fiber_no_sync); }
#else
  Runner() = default;
  static Runner caller() { return {}; }
  void become() const {}
#endif
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

 private:
#if defined(STEELYARD_RACES)
  explicit Runner(void* fiber) : fiber_(fiber), own_(false) {}
  void* fiber_;
  bool own_;
#endif
};

// Accesses before tell() happen before those after a later hear().
inline void tell([[maybe_unused]] void* of) {
#if defined(STEELYARD_RACES)
  __tsan_release(of);
#endif
}
inline void hear([[maybe_unused]] void* of) {
#if defined(STEELYARD_RACES)
  __tsan_acquire(of);
#endif
}

class Fiber {
 public:
  // Runs `body(argument)`, which must never return, from the first resume() on.
  Fiber(void (*body)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Switches from the thread's own stack to the fiber, until it calls suspend().
  void resume();
  void suspend();

 private:
  static void start(unsigned high, unsigned low);

  void (*body_)(void*);
  void* argument_;
  std::byte* memory_;  // a guard page, and the stack
  std::size_t bytes_;
  bool started_ = false;
  ucontext_t origin_{}, context_{};
  void* here_[5]{};  // jump targets: of the fiber, and of its caller
  void* there_[5]{};
  // For the address sanitizer: the caller's stack, and the sanitizer's data for both stacks.
  const void* callers_stack_ = nullptr;
  std::size_t callers_bytes_ = 0;
  void* kept_of_caller_ = nullptr;
  void* kept_of_fiber_ = nullptr;
};

}  // namespace steelyard::nn::cuda::host
