#include "worker/compute/thread_count.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/processor.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::string_view all_cores = "auto";
constexpr unsigned most_threads = 1024;

std::optional<unsigned> number_of(std::string_view text) {
  const auto number = number_in<unsigned>(text);
  return number && *number > 0 && *number <= most_threads ? number : std::nullopt;
}

// For "auto" and "auto-2": the number of cores left to others.
std::optional<unsigned> left_in(std::string_view text) {
  if (!text.starts_with(all_cores)) return std::nullopt;
  text.remove_prefix(all_cores.size());
  if (text.empty()) return 0;
  return text.starts_with('-') ? number_of(text.substr(1)) : std::nullopt;
}

}  // namespace

bool is_thread_count(std::string_view text) { return left_in(text) || number_of(text); }

const std::string& thread_count_expected() {
  static const std::string expected =
      "a number from 1 to " + std::to_string(most_threads) +
      ", or \"auto\" for every core that it may use, \"auto-2\" for all but two";
  return expected;
}

std::string thread_count_beside(const std::string& text, unsigned cores) {
  return text == all_cores && cores > 0 ? text + "-" + std::to_string(std::min(cores, most_threads)) : text;
}

unsigned thread_count(const std::string& text) {
  if (const auto number = number_of(text)) return *number;
  if (const auto left = left_in(text)) {
    const unsigned cores = allowed_cores();
    return cores - std::min(*left, cores - 1);
  }
  refuse_setup("threads = " + text + ": give " + thread_count_expected());
}

}  // namespace steelyard
