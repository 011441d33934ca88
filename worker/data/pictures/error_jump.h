// ErrorJump: errors of C libraries that report them by calling a function that must not return (libjpeg,
// libpng). An exception must not pass through their frames, so the function jumps out of them.
#pragma once

#include <csetjmp>
#include <cstdio>

namespace steelyard {

class ErrorJump {
 public:
  // Returns whether `work` ended without fail(). `work` calls the library and nothing else: no object with a
  // destructor may live in it, because the jump skips destructors. Not to be nested.
  template <class Work>
  [[nodiscard]] __attribute__((noinline)) bool completes(const Work& work) {
    if (setjmp(place_) != 0) return false;
    work();
    return true;
  }

  // For the library's error function, inside completes().
  [[noreturn]] void fail(const char* message) {
    std::snprintf(message_, sizeof message_, "%s", message);
    std::longjmp(place_, 1);
  }
  [[nodiscard]] const char* message() const { return message_; }

 private:
  std::jmp_buf place_{};
  char message_[200]{};
};

}  // namespace steelyard
