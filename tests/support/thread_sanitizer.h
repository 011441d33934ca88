// What tests do otherwise under thread sanitizer.
#pragma once

#include <cstdlib>

namespace steelyard::test {

#ifdef __SANITIZE_THREAD__
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

// Whether tests over ZeroMQ run: the sanitizer reports false races if libzmq is not instrumented. Debian's is
// not; script/instrumented-zmq compiles one that is.
inline bool can_use_zmq() {
  return !under_thread_sanitizer || std::getenv("STEELYARD_INSTRUMENTED_ZMQ") != nullptr;
}

}  // namespace steelyard::test
