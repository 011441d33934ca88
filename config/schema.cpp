#include "config/schema.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "config/toml_text.h"
#include "wire/name.h"

namespace steelyard {
namespace {

std::string range_text(const Limits& l) {
  const std::string least = number_text(l.least), most = number_text(l.most);
  const std::string from = (l.without_least ? "above " : "of at least ") + least;
  if (!std::isfinite(l.most)) return from;
  if (!l.without_least && !l.without_most) return "from " + least + " to " + most;
  return from + (l.without_most ? " and below " : " and at most ") + most;
}

template <class Row>
const Row* find_row(const std::vector<Row>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found != rows.end() ? &*found : nullptr;
}

}  // namespace

Limits Limits::plain_name() {
  return {.accepts = is_plain_name,
          .expected =
              "a name of at most 64 letters, digits, '.', '_' and '-' that begins with a letter, "
              "digit or '_'",
          .in_help = false};
}

std::string Section::title() const {
  if (kind == Kind::list) return "[[" + name + "]]";
  return "[" + name + (kind == Kind::named ? ".<" + name + ">]" : "]");
}

const Key* Section::find(std::string_view key) const { return find_row(keys, key); }
const Section* Schema::find(std::string_view section) const { return find_row(sections, section); }

std::string allowed(const Key& key) {
  return std::visit(
      [&]<class Value>(const Value*) -> std::string {
        if constexpr (std::is_same_v<Value, std::string>) {
          std::string choices;
          for (const std::string& it : key.limits.choices)
            choices += (choices.empty() ? "one of " : ", ") + quoted(it);
          return choices.empty() ? key.limits.expected : choices;
        }
        if constexpr (std::is_same_v<Value, bool>) return "true or false";
        if constexpr (std::is_same_v<Value, double>) return "a number " + range_text(key.limits);
        if constexpr (std::is_integral_v<Value>) return "a whole number " + range_text(key.limits);
        if constexpr (std::is_same_v<Value, std::vector<double>>)
          return "a list of numbers only, 1 to " + std::to_string(longest_list) + ", as in [5.9, 0.59]";
        return "options, as in { dir = \"/data/fashion\" }";
      },
      key.field);
}

std::string value_text(const Key& key) {
  return std::visit(
      [&]<class Value>(const Value* value) -> std::string {
        if constexpr (std::is_same_v<Value, std::string>)
          return key.limits.may_be_number ? option_text(*value) : quoted(*value);
        if constexpr (std::is_same_v<Value, bool>) return *value ? "true" : "false";
        if constexpr (std::is_same_v<Value, double>) return number_text(*value);
        if constexpr (std::is_integral_v<Value>) return std::to_string(*value);
        return "";  // of lists and options there are examples only
      },
      key.field);
}

std::vector<Key> joined(std::vector<std::vector<Key>> parts) {
  std::vector<Key> keys;
  for (auto& part : parts) std::ranges::move(part, std::back_inserter(keys));
  return keys;
}

bool is_plain_name(std::string_view name) {
  return valid_name(name) && name[0] != '.' && name[0] != '-' &&
         name.find_first_of(":/@+") == std::string_view::npos;
}

}  // namespace steelyard
