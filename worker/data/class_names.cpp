#include "worker/data/class_names.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace steelyard {

std::optional<double> finite_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

ClassNames::ClassNames(const std::vector<std::string>& labels)
    : numbers_(
          std::ranges::all_of(labels, [](const std::string& it) { return finite_number(it).has_value(); })) {
  for (const std::string& label : labels) {
    if (numbers_) by_number_.try_emplace(*finite_number(label), 0);
    if (!numbers_) by_text_.try_emplace(label, 0);
  }
  for (auto& [label, number] : by_number_) number = size_++;
  for (auto& [label, number] : by_text_) number = size_++;
}

std::optional<std::uint32_t> ClassNames::find(const std::string& label) const {
  const auto found_in = [](const auto& table, const auto& key) -> std::optional<std::uint32_t> {
    const auto found = table.find(key);
    return found == table.end() ? std::nullopt : std::optional(found->second);
  };
  if (!numbers_) return found_in(by_text_, label);
  const auto number = finite_number(label);
  return number ? found_in(by_number_, *number) : std::nullopt;
}

}  // namespace steelyard
