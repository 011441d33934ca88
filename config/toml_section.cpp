#include "config/toml_section.h"

#include <algorithm>
#include <cmath>

#include "config/job_source.h"
#include "config/toml_text.h"
#include "core/near_match.h"

namespace steelyard {
namespace {

constexpr double no_limit = 1e15;

std::string range(const char* kind, double least, double most) {
  return std::string("give a ") + kind + " from " + number_text(least) +
         (most < no_limit ? " to " + number_text(most) : " on");
}

const toml::table no_keys;

}  // namespace

struct TomlSection::Table {
  const toml::table& it;
};

TomlSection::TomlSection(const JobSource& source, std::string title, const Table& table)
    : source_(&source), title_(std::move(title)), table_(std::make_shared<const Table>(table)) {}

TomlSection TomlSection::of(const JobSource& source, const std::string& name, const std::string& part) {
  const toml::node_view<const toml::node> node = source.root()[name];
  const toml::table* table = part.empty() ? node.as_table() : node[part].as_table();
  const std::string title = "[" + name + (part.empty() ? "" : "." + part) + "]";
  return {source, title, Table{table != nullptr ? *table : no_keys}};
}

std::vector<TomlSection> TomlSection::all_of(const JobSource& source, const std::string& name) {
  TomlSection root(source, "", Table{source.root()});
  return root.all_below(name.c_str(), "[[" + name + "]]");
}

std::vector<TomlSection> TomlSection::all_below(const char* key, const std::string& title) {
  std::vector<TomlSection> sections;
  const toml::node* all = look_for(key).it.get(key);
  if (all == nullptr) return sections;
  if (!all->is_array_of_tables()) refuse(key, "write " + title + " once for each");
  for (const toml::node& node : *all->as_array())
    sections.push_back(TomlSection(*source_, title, Table{*node.as_table()}));
  return sections;
}

TomlSection TomlSection::below(const char* key, const std::string& expected) {
  const toml::node* node = look_for(key).it.get(key);
  if (node != nullptr && !node->is_table()) refuse(key, expected);
  return {*source_, std::string(key) + " of " + title_, Table{node != nullptr ? *node->as_table() : no_keys}};
}

bool TomlSection::number(const char* key, double& into, double least, double most) {
  const toml::node* node = look_for(key).it.get(key);
  if (node == nullptr) return false;
  const auto value = node->value<double>();
  if (!value || !node->is_number() || !std::isfinite(*value) || *value < least || *value > most) {
    refuse(key, range("number", least, most));
  }
  into = *value;
  return true;
}

std::optional<std::uint64_t> TomlSection::whole(const char* key, double least, double most) {
  const toml::node* node = look_for(key).it.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value_exact<std::int64_t>();
  if (!value || static_cast<double>(*value) < least || static_cast<double>(*value) > most) {
    refuse(key, range("whole number", least, most));
  }
  return static_cast<std::uint64_t>(*value);
}

bool TomlSection::text(const char* key, std::string& into, const std::vector<std::string>& choices) {
  const toml::node* node = look_for(key).it.get(key);
  if (node == nullptr) return false;
  const auto value = node->value_exact<std::string>();
  if (!value || value->empty()) refuse(key, "give a text in quotes");
  if (!choices.empty() && std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    refuse(key, "there is no such" + among(*value, choices));
  }
  into = *value;
  return true;
}

bool TomlSection::text(const char* key, std::string& into, bool (*is_good)(std::string_view),
                       const std::string& expected) {
  return take_text(
      key, into, [](const toml::node& node) { return node.value_exact<std::string>(); }, is_good, expected);
}

bool TomlSection::text_or_number(const char* key, std::string& into, bool (*is_good)(std::string_view),
                                 const std::string& expected) {
  return take_text(key, into, steelyard::text_or_number, is_good, expected);
}

template <class Read>
bool TomlSection::take_text(const char* key, std::string& into, Read read, bool (*is_good)(std::string_view),
                            const std::string& expected) {
  const toml::node* node = look_for(key).it.get(key);
  if (node == nullptr) return false;
  const std::optional<std::string> value = read(*node);
  if (!value || value->empty() || !is_good(*value)) refuse(key, "give " + expected);
  into = *value;
  return true;
}

bool TomlSection::flag(const char* key, bool& into) {
  const toml::node* node = look_for(key).it.get(key);
  if (node == nullptr) return false;
  const auto value = node->value_exact<bool>();
  if (!value) refuse(key, "give true or false");
  into = *value;
  return true;
}

bool TomlSection::numbers(const char* key, std::vector<double>& into) {
  const toml::node* node = look_for(key).it.get(key);
  if (node == nullptr) return false;
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty() || list->size() > 16) {
    refuse(key, "give a list of 1 to 16 numbers, as in [5.9, 0.59]");
  }
  into.clear();
  for (const toml::node& it : *list) {
    const auto value = it.is_number() ? it.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value)) refuse(key, "give numbers only, as in [5.9, 0.59]");
    into.push_back(*value);
  }
  return true;
}

std::map<std::string, std::string> TomlSection::options() const {
  std::map<std::string, std::string> all;
  for (auto&& [name, node] : table_->it) {
    const std::string key(name.str());
    if (node.is_table() || node.is_array()) {
      refuse(key.c_str(), "give a text, a number, true or false");
    }
    const auto text = node.value_exact<std::string>();
    all[key] = text ? *text : shown(node);
  }
  return all;
}

void TomlSection::demand(bool holds, const char* key, const std::string& what) const {
  if (holds) return;
  const toml::node* node = table_->it.get(key);
  source_->refuse("", node != nullptr ? node->source() : table_->it.source(), what);
}

void TomlSection::finish() const {
  for (auto&& [name, node] : table_->it) {
    const std::string key(name.str());
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    source_->refuse("", name.source(), "unknown key \"" + key + "\" in " + title_ + among(key, known_));
  }
}

bool TomlSection::given(const char* key) const { return table_->it.contains(key); }

const TomlSection::Table& TomlSection::look_for(const char* key) {
  known_.emplace_back(key);
  return *table_;
}

void TomlSection::refuse(const char* key, const std::string& what) const {
  const toml::node& node = *table_->it.get(key);
  source_->refuse("", node.source(), std::string(key) + " = " + shown(node) + " in " + title_ + ": " + what);
}

}  // namespace steelyard
