#include "nn/cuda/host/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "core/check.h"

// The running stack changes inside.
#define UNWATCHED __attribute__((noinline, no_sanitize("address", "undefined")))

namespace steelyard::nn::cuda::host {
namespace {

// Kernels have few local variables; sanitizers add more.
constexpr std::size_t stack_bytes = 256 * 1024;

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// swapcontext makes a system call for the signal mask each time; these do not.
[[noreturn]] UNWATCHED void jump(void** to) { __builtin_longjmp(to, 1); }

UNWATCHED void swap(void** from, void** to) {
  if (__builtin_setjmp(from) == 0) jump(to);
}

}  // namespace

Fiber::Fiber(void (*body)(void*), void* argument)
    : body_(body), argument_(argument), bytes_(page() + stack_bytes) {
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  CHECK(mprotect(memory_, page(), PROT_NONE) == 0, "a fiber's stack has no guard");
}

Fiber::~Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory_ + page(), stack_bytes);  // the memory is returned to the system
#endif
  munmap(memory_, bytes_);
}

// The address sanitizer must be notified on the new stack before anything else.
UNWATCHED void Fiber::start(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->callers_stack_, &self->callers_bytes_);
#endif
  self->body_(self->argument_);
  CHECK(false, "the body of a fiber returned");
}

UNWATCHED void Fiber::resume() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&kept_of_caller_, memory_ + page(), stack_bytes);
#endif
  if (started_) {
    swap(there_, here_);
  } else {
    started_ = true;
    getcontext(&context_);
    context_.uc_stack.ss_sp = memory_ + page();
    context_.uc_stack.ss_size = stack_bytes;
    context_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::start), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
    if (__builtin_setjmp(there_) == 0) swapcontext(&origin_, &context_);
  }
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(kept_of_caller_, nullptr, nullptr);
#endif
}

UNWATCHED void Fiber::suspend() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&kept_of_fiber_, callers_stack_, callers_bytes_);
#endif
  swap(here_, there_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(kept_of_fiber_, &callers_stack_, &callers_bytes_);
#endif
}

}  // namespace steelyard::nn::cuda::host
