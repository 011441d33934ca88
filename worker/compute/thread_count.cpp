#include "worker/compute/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr char all_cores[] = "auto";
constexpr unsigned most_threads = 1024;

// 0: it is none.
unsigned number_of(std::string_view text) {
  const auto number = number_in<unsigned>(text);
  return number && *number <= most_threads ? *number : 0;
}

// A set of the usual size holds 1024 cores; on a larger machine all count.
unsigned allowed_cores() {
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const unsigned cores =
      known ? static_cast<unsigned>(CPU_COUNT(&allowed)) : std::thread::hardware_concurrency();
  return std::clamp(cores, 1U, most_threads);
}

}  // namespace

bool is_thread_count(std::string_view text) { return text == all_cores || number_of(text) > 0; }

const std::string& thread_count_expected() {
  static const std::string expected = "a number from 1 to " + std::to_string(most_threads) + ", or \"" +
                                      all_cores + "\" for every core that it may use";
  return expected;
}

unsigned thread_count(const std::string& text) {
  if (!is_thread_count(text))
    throw Failure(ExitCode::configuration, "threads = " + text + ": give " + thread_count_expected());
  return text == all_cores ? allowed_cores() : number_of(text);
}

}  // namespace steelyard
