// Conversion between numbers and text, independent of the locale, and simple statistics.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// Statistics of a few numbers.
double mean(std::span<const double> values);             // 0 if empty
double median(std::vector<double> values);               // by value: reorders them; 0 if empty
double relative_spread(std::span<const double> values);  // (max - min) / mean: the straggler effect, SE

// Calls `take` with each line, without its newline. A last line without newline counts, too.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Without leading and trailing blanks and tabs.
std::string_view trimmed(std::string_view text);

// Parses all of the text as a number. Returns std::nullopt if it is invalid, out of range or not finite.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  if constexpr (std::floating_point<Number>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

std::string number_text(double value);  // the fewest digits that parse back to the same number
std::string numbers_text(const std::vector<double>& values);  // separated by blanks

}  // namespace steelyard
