#include "app/config/natural_order.h"

#include <algorithm>
#include <tuple>

namespace steelyard {
namespace {

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// The number that the text begins with, which is taken from it; empty if it begins with none. Leading zeros
// say nothing.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  std::string_view number(text.begin(), end);
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x != y) return std::tuple(x.size(), x) < std::tuple(y.size(), y);
    } else {
      if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ in leading zeros at most
}

}  // namespace steelyard
