#include "core/processor.h"

#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <thread>

#include "core/cores.h"
#include "core/text.h"

namespace steelyard {
namespace {

#if defined(__x86_64__)
Level best_level() {
  const bool v3 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return v4 ? Level::v4 : v3 ? Level::v3 : Level::baseline;
}
bool has_bf16() { return __builtin_cpu_supports("avx512bf16"); }
#else
Level best_level() { return Level::baseline; }
bool has_bf16() { return false; }
#endif

Level detect() {
  Level best = best_level();
  if (const char* wanted = std::getenv("STEELYARD_LEVEL")) {
    for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
      if (std::string_view(wanted) == name(level)) best = std::min(best, level);
    }
  }
  return best;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

const char* release() { return STEELYARD_VERSION; }

Level cpu_level() {
  static const Level level = detect();
  return level;
}

bool cpu_has_bf16() { return cpu_level() == Level::v4 && has_bf16(); }

const char* name(Level level) {
  static constexpr std::array names{"baseline", "v3", "v4"};
  return names[static_cast<std::size_t>(level)];
}

std::string processor_name(std::string_view cpuinfo) {
  std::string name;
  std::set<std::string> packages;
  for_each_line(cpuinfo, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
    // On x86-64 "model" is a number; ARM has only "Model", the board.
    if ((key == "model name" || key == "Model") && name.empty()) name = value;
    if (key == "physical id") packages.emplace(value);
  });
  if (name.empty()) return "unknown processor";
  return packages.size() > 1 ? std::to_string(packages.size()) + " x " + name : name;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  return processor_name(std::string(std::istreambuf_iterator<char>(file), {}));
}

unsigned allowed_cores() {
  const auto known = static_cast<unsigned>(allowed_core_numbers().size());
  return std::clamp(known > 0 ? known : std::thread::hardware_concurrency(), 1U,
                    static_cast<unsigned>(CPU_SETSIZE));
}

}  // namespace steelyard
