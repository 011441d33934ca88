#include "core/check.h"

#include <cstdio>
#include <cstdlib>

namespace steelyard {

void check_failed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "steelyard: internal error at %s:%d: %s does not hold: %s\n", file, line, condition,
               why);
  std::fflush(stderr);
  std::abort();
}

}  // namespace steelyard
