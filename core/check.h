// CHECK: a broken invariant ends the process, in every build.
//
// Three kinds of trouble, three answers: a set-up that cannot work is an exception (core/error.h);
// bad, late or repeated input from outside is ignored and counted; an invariant of our own that does
// not hold is a CHECK.
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
