#include "core/option_list.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/json.h"

namespace steelyard {
namespace {

std::optional<std::vector<std::string>> list_in(const std::string& text) {
  if (!text.starts_with('[')) return text.empty() ? std::nullopt : std::optional(std::vector{text});
  const Json json = parse_json(text);
  const auto is_text = [](const Json& it) { return it.is_string(); };
  if (!json.is_array() || json.empty() || !std::ranges::all_of(json, is_text)) return std::nullopt;
  return json.get<std::vector<std::string>>();
}

}  // namespace

Option list_option(std::string name, std::string help) {
  return {std::move(name), "", "a list, as in [\"height\", \"weight\"]", std::move(help),
          [](const std::string& text) { return list_in(text).has_value(); }};
}

std::vector<std::string> list_of(const Options& options, const std::string& name) {
  return options.has(name) ? list_in(options.text(name)).value_or(std::vector<std::string>{})
                           : std::vector<std::string>{};
}

std::string option_list_text(const std::vector<std::string>& values) { return dump_json(Json(values)); }

bool is_option_list(const std::string& text) {
  const auto list = text.starts_with('[') ? list_in(text) : std::nullopt;
  return list && option_list_text(*list) == text;
}

}  // namespace steelyard
