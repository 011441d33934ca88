#include "core/level.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace steelyard {
namespace {

Level detect() {
  Level best = Level::baseline;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    best = Level::v3;
  if (best == Level::v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    best = Level::v4;
  }
  if (const char* wanted = std::getenv("STEELYARD_LEVEL")) {
    for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
      if (std::string_view(wanted) == name(level)) best = std::min(best, level);
    }
  }
  return best;
}

}  // namespace

Level cpu_level() {
  static const Level level = detect();
  return level;
}

bool cpu_has_bf16() { return cpu_level() == Level::v4 && __builtin_cpu_supports("avx512bf16"); }

const char* name(Level level) {
  switch (level) {
    case Level::baseline:
      return "baseline";
    case Level::v3:
      return "v3";
    case Level::v4:
      return "v4";
  }
  return "unknown";
}

}  // namespace steelyard
