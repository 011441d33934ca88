#include "app/config/schema.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "core/check.h"
#include "core/json.h"
#include "core/option_list.h"
#include "core/text.h"
#include "protocol/node.h"

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

constexpr std::size_t help_column = 30, width = 110;

// Wraps `help` into its column; `line` is the text to the left of the first line.
std::string entry(std::string line, const std::string& help, std::size_t column = help_column) {
  std::string text;
  line.resize(std::max(line.size() + 1, column), ' ');
  std::istringstream words(help);
  for (std::string word; words >> word;) {
    if (line.size() + word.size() > width) {
      text += line + "\n";
      line = std::string(column, ' ');
    }
    line += (line.back() == ' ' ? "" : " ") + word;
  }
  return text + line + "\n";
}

// Returns an empty text for an empty list, which no key accepts.
template <class Value>
std::string list_text(const std::vector<Value>& values, std::string (*write)(Value)) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "[" : ", ") + write(value);
  return text.empty() ? text : text + "]";
}
std::string list_text(const std::vector<double>& numbers) { return list_text<double>(numbers, number_text); }
std::string list_text(const std::vector<std::string>& texts) {
  return list_text<std::string>(texts, [](std::string text) { return toml_quoted(text); });
}

std::string entry(const Key& key) {
  if (key.name.empty()) return entry("  ...", key.help);
  const std::string value = key.example.empty() ? value_text(key) : key.example;
  std::string text = key.heading.empty() ? "" : entry("  #", key.heading, 4);
  text += entry("  " + key.name + " = " + value, key.help);
  if (key.limits.in_help) text += entry("", allowed(key), help_column + 2);
  return text;
}

Json schema_of(const Key& key) {
  const Limits& limits = key.limits;
  Json schema{{"description", key.help + "\n" + allowed(key)}};
  std::visit(
      [&]<class Value>(const Value* value) {
        if constexpr (std::is_same_v<Value, std::string>) {
          schema["type"] = limits.may_be_number ? Json{"string", "number"} : Json("string");
          if (!limits.choices.empty()) schema["enum"] = limits.choices;
          if (!value->empty()) schema["default"] = *value;
        } else if constexpr (std::is_same_v<Value, bool>) {
          schema.update({{"type", "boolean"}, {"default", *value}});
        } else if constexpr (std::is_arithmetic_v<Value>) {
          schema["type"] = std::is_integral_v<Value> ? "integer" : "number";
          schema[limits.without_least ? "exclusiveMinimum" : "minimum"] = limits.least;
          if (std::isfinite(limits.most))
            schema[limits.without_most ? "exclusiveMaximum" : "maximum"] = limits.most;
          schema["default"] = *value;
        } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
          schema.update({{"type", "array"}, {"items", {{"type", "number"}}}});
          if (std::isfinite(limits.least)) schema["items"]["minimum"] = limits.least;
          schema.update({{"minItems", 1}, {"maxItems", limits.longest}});
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          schema.update({{"type", "array"}, {"items", {{"type", "string"}}}});
          schema.update({{"minItems", 1}, {"maxItems", limits.longest}});
        } else {
          schema["type"] = "object";
        }
      },
      key.field);
  if (key.example.empty()) return schema;
  schema.erase("default");
  Json example = parse_json(key.example);  // TOML other than a table is valid JSON
  if (!example.is_discarded()) schema["examples"] = Json::array({std::move(example)});
  return schema;
}

Json schema_of(const Section& section, const Schema& all) {
  using Kind = Section::Kind;
  Json properties = Json::object(), others = false;
  for (const Key& key : section.keys) {
    if (key.name.empty()) {
      others = section.kind == Kind::named ? Json{{"type", "object"}} : Json(true);
    } else {
      properties[key.name] = schema_of(key);
    }
  }
  for (const Section& it : all.sections) {
    if (it.name.starts_with(section.name + "."))
      properties[it.name.substr(section.name.size() + 1)] = schema_of(it, all);
  }
  const Json schema{{"type", "object"},
                    {"description", section.help},
                    {"properties", properties},
                    {"additionalProperties", others}};
  if (section.kind != Kind::list) return schema;
  return {{"type", "array"}, {"minItems", int{section.required}}, {"items", schema}};
}

// Whether `write` turns the number in `text` back into `text`. False for "007" and "1e3"; "inf" and "nan",
// which are numbers in TOML, are never options.
template <class Number>
bool reads_back(const std::string& text, std::string (*write)(Number)) {
  const auto value = number_in<Number>(text);
  return value && write(*value) == text;
}

std::string whole_text(std::int64_t value) { return std::to_string(value); }

}  // namespace

Limits Limits::plain_name() {
  return text(
      is_plain_name,
      "a name of at most 64 letters, digits, '.', '_' and '-' that begins with a letter, digit or '_'",
      false);
}

std::string Section::title() const {
  if (kind == Kind::list) return "[[" + name + "]]";
  return "[" + name + (kind == Kind::named ? ".<" + name + ">]" : "]");
}

const Key* Section::find(std::string_view key) const { return find_row(keys, key); }
const Section* Schema::find(std::string_view section) const { return find_row(sections, section); }
const Section& Schema::at(std::string_view section) const {
  const Section* found = find(section);
  CHECK(found != nullptr, "the schema has no such section");
  return *found;
}

std::string allowed(const Key& key) {
  return std::visit(
      [&]<class Value>(const Value*) -> std::string {
        if constexpr (std::is_same_v<Value, std::string>) {
          std::string choices;
          for (const std::string& it : key.limits.choices)
            choices += (choices.empty() ? "one of " : ", ") + toml_quoted(it);
          return choices.empty() ? key.limits.expected : choices;
        }
        if constexpr (std::is_same_v<Value, bool>) return "true or false";
        if constexpr (std::is_same_v<Value, double>) return "a number " + range_text(key.limits);
        if constexpr (std::is_integral_v<Value>) return "a whole number " + range_text(key.limits);
        if constexpr (std::is_same_v<Value, std::vector<double>>)
          return "a list of 1 to " + std::to_string(key.limits.longest) + " numbers only" +
                 (std::isfinite(key.limits.least) ? ", " + range_text(key.limits) : "") + ", as in " +
                 key.example;
        if constexpr (std::is_same_v<Value, std::vector<std::string>>)
          return "a list of 1 to " + std::to_string(key.limits.longest) + " texts of one line, as in " +
                 key.example;
        return "options, as in { dir = \"/data/fashion\" }";
      },
      key.field);
}

std::string value_text(const Key& key) {
  return std::visit(
      [&]<class Value>(const Value* value) -> std::string {
        if constexpr (std::is_same_v<Value, std::string>)
          return key.limits.may_be_number ? option_text(*value) : toml_quoted(*value);
        if constexpr (std::is_same_v<Value, bool>) return *value ? "true" : "false";
        if constexpr (std::is_same_v<Value, double>) return number_text(*value);
        if constexpr (std::is_integral_v<Value>) return std::to_string(*value);
        if constexpr (std::is_same_v<Value, std::vector<double>> ||
                      std::is_same_v<Value, std::vector<std::string>>)
          return list_text(*value);
        return "";  // options have no default, only an example
      },
      key.field);
}

bool take_text(const Key& key, const std::string& text) {
  const Limits& limits = key.limits;
  const auto number = [&]<class Number>(Number& into) {
    const auto value = number_in<Number>(text);
    if (!value || !limits.allow(static_cast<double>(*value))) return false;
    into = *value;
    return true;
  };
  return std::visit(
      [&]<class Value>(Value* into) {
        if constexpr (std::is_same_v<Value, std::string>) {
          *into = limits.present(text);
          const bool listed = limits.choices.empty() || std::ranges::count(limits.choices, *into) > 0;
          return listed && (limits.accepts == nullptr || limits.accepts(text));
        } else if constexpr (std::is_same_v<Value, bool>) {
          *into = text == "true";
          return *into || text == "false";
        } else if constexpr (std::is_arithmetic_v<Value>) {
          return number(*into);
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          into->push_back(text);
          return true;
        } else {
          return false;
        }
      },
      key.field);
}

std::string option_name(const std::string& key) {
  std::string name = "--" + key;
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string variable_name(const std::string& key) {
  std::string name = "STEELYARD_" + key;
  for (char& c : name) {
    if ('a' <= c && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string describe(const Schema& schema) {
  std::string text = schema.intro.empty() ? "" : schema.intro + "\n";
  for (const Section& section : schema.sections) {
    text += section.title() + "  " + section.help + "\n";
    if (section.kind == Section::Kind::named) continue;  // its options depend on the name
    for (const Key& key : section.keys) text += entry(key);
  }
  return text;
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

std::string json_schema(const Schema& schema) {
  Json properties = Json::object(), required = Json::array();
  for (const Section& section : schema.sections) {
    if (section.name.find('.') != std::string::npos) continue;
    properties[section.name] = schema_of(section, schema);
    if (section.required) required.push_back(section.name);
  }
  const Json whole{{"$schema", "http://json-schema.org/draft-07/schema#"},
                   {"title", schema.title},
                   {"type", "object"},
                   {"properties", properties},
                   {"required", required},
                   {"additionalProperties", false}};
  return dump_json(whole, 2) + "\n";
}

std::string toml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code == 0x7F) {
      result += "\\u00";
      result += "0123456789ABCDEF"[code >> 4];
      result += "0123456789ABCDEF"[code & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string option_text(const std::string& text) {
  const bool bare = text == "true" || text == "false" || reads_back<std::int64_t>(text, whole_text) ||
                    reads_back<double>(text, number_text) || is_option_list(text);
  return bare ? text : toml_quoted(text);
}

}  // namespace steelyard
