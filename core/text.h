// Texts that people write as numbers. No locale has a say: a file means the same everywhere.
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

// A few numbers about many numbers.
double mean(std::span<const double> values);             // 0 if there are none
double median(std::vector<double> values);               // by value: it is reordered; 0 if there are none
double relative_spread(std::span<const double> values);  // (max - min) / mean: the straggler effect, SE

// Calls `take` with each line, without its end. What ends without a newline is a line, too.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Without blanks and tabs at its ends.
std::string_view trimmed(std::string_view text);

// The number that all of the text is. Nothing if it is none, does not fit, or is not finite.
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

std::string number_text(double value);  // the fewest digits that give the same number back
std::string numbers_text(const std::vector<double>& values);  // the same, with a blank between two

}  // namespace steelyard
