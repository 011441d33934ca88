// CHECK: a broken invariant aborts the process, in every build.
//
// Three kinds of errors are handled in three ways: an invalid set-up is an exception (core/error.h); invalid,
// late or repeated input from outside is ignored and counted; a violated internal invariant is a CHECK.
#pragma once

namespace steelyard {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* why);

}  // namespace steelyard

#define CHECK(condition, why)                                         \
  do {                                                                \
    if (!(condition)) [[unlikely]] {                                  \
      ::steelyard::check_failed(__FILE__, __LINE__, #condition, why); \
    }                                                                 \
  } while (false)
