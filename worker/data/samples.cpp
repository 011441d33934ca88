#include "worker/data/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "core/error.h"
#include "core/options.h"

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
  std::map<double, std::string> texts;
  for (const std::string& label : labels) {
    if (numbers_) texts.try_emplace(*finite_number(label), label);
    if (!numbers_) by_text_.try_emplace(label, 0);
  }
  for (const auto& [number, text] : texts) {
    by_number_[number] = size();
    names_.push_back(text);
  }
  for (auto& [label, number] : by_text_) {
    number = size();
    names_.push_back(label);
  }
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

void read_sample(const DataSet& data, std::uint64_t index, float* into, std::uint32_t* labels, float* targets,
                 const std::function<std::string()>& place) {
  try {
    data.read(index, into, labels);
    if (data.targets() > 0) data.read_targets(index, targets);
  } catch (...) {
    in_name_of(place(), [] { throw; });
  }
  if (data.targets() > 0) {
    if (std::all_of(targets, targets + data.targets(), [](float it) { return std::isfinite(it); })) return;
    throw Failure(ExitCode::configuration,
                  place() + ": one of its targets is not a finite number: correct it");
  }
  const std::span all(labels, data.labels());
  const auto wrong = std::ranges::find_if(all, [&](std::uint32_t label) { return label >= data.classes(); });
  if (wrong == all.end()) return;
  throw Failure(ExitCode::configuration,
                place() + ": its label is " + std::to_string(*wrong) + ", and with " +
                    std::to_string(data.classes()) + " classes labels go from 0 to " +
                    std::to_string(data.classes() - 1) + ": correct the label, or classes()");
}

}  // namespace steelyard
