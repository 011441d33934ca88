#include "app/config/toml_section.h"

#include <algorithm>
#include <cmath>

#include "app/config/job_source.h"
#include "core/error.h"
#include "core/option_list.h"

namespace steelyard {
namespace {

using Kind = Section::Kind;

const toml::table no_keys;

// Throws unless the node is a section, or a list of sections if the schema has one.
void check_shape(const JobSource& source, const Section& section, const toml::key& key,
                 const toml::node& node) {
  const bool list = section.kind == Kind::list;
  if (list ? node.is_array_of_tables() : node.is_table()) return;
  const std::string title = list ? section.title() : "[" + section.name + "]";
  source.refuse(std::string(key.str()), key.source(),
                toml_quoted(key.str()) + " must be a section: write " + title +
                    (list ? " once for each," : "") + " on a line of its own");
}

// toml++ does not convert whole numbers that a double cannot represent, such as 9223372036854775807.
double number_of(const toml::node& node) {
  return node.is_integer() ? static_cast<double>(**node.as_integer()) : **node.as_floating_point();
}

bool in_range(const toml::node& node, const Limits& limits) {
  if (!node.is_number()) return false;
  const double value = number_of(node);
  return std::isfinite(value) && limits.allow(value);
}

// Stores a value if it has the right type and is in range. Returns whether it was stored.
bool take(const toml::node& node, const Limits& limits, std::string& into) {
  const auto text = limits.may_be_number ? text_or_number(node) : node.value_exact<std::string>();
  if (!text || text->empty()) return false;
  into = limits.present(*text);
  if (!limits.choices.empty()) return std::ranges::find(limits.choices, into) != limits.choices.end();
  return limits.accepts == nullptr || limits.accepts(into);
}
bool take(const toml::node& node, const Limits& limits, double& into) {
  if (!in_range(node, limits)) return false;
  into = number_of(node);
  return true;
}
bool take(const toml::node& node, const Limits&, bool& into) {
  if (node.is_boolean()) into = **node.as_boolean();
  return node.is_boolean();
}
// Not through a double: a seed has 63 bits.
template <std::unsigned_integral Whole>
bool take(const toml::node& node, const Limits& limits, Whole& into) {
  if (!node.is_integer() || !in_range(node, limits)) return false;
  into = static_cast<Whole>(**node.as_integer());
  return true;
}
bool take(const toml::node& node, const Limits& limits, std::vector<double>& into) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty() || list->size() > limits.longest) return false;
  into.clear();
  for (const toml::node& it : *list) {
    if (!in_range(it, limits)) return false;
    into.push_back(number_of(it));
  }
  return true;
}
bool take(const toml::node& node, const Limits& limits, std::vector<std::string>& into) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty() || list->size() > limits.longest) return false;
  into.clear();
  for (const toml::node& it : *list) {
    const auto text = it.value_exact<std::string>();
    if (!text || text->empty() || (limits.accepts != nullptr && !limits.accepts(*text))) return false;
    into.push_back(*text);
  }
  return true;
}
bool take(const toml::node& node, const Limits&, OptionTexts&) {
  return node.is_table();  // read_option() stores the options one by one
}
template <class OnCommandLines>
bool take(const toml::node&, const Limits&, OnCommandLines&) {
  return false;
}

// A list of texts and numbers, as texts.
bool take_list(const toml::node& node, std::vector<std::string>& into) {
  if (!node.is_array()) return false;
  for (const toml::node& it : *node.as_array()) {
    const auto text = text_or_number(it);
    if (!text) return false;
    into.push_back(*text);
  }
  return !into.empty();
}

}  // namespace

struct TomlSection::Text {
  const JobSource& source;
  const Schema& schema;
  const Section& section;
  const toml::table& table;
  std::string part{};
  toml::source_region place = table.source();

  [[nodiscard]] std::string title() const {  // for messages
    return section.kind == Kind::named ? "[" + section.name + "." + part + "]" : section.title();
  }
  [[nodiscard]] std::string path() const { return section.name + (part.empty() ? "" : "." + part); }
  [[noreturn]] void refuse(std::string_view key, const toml::source_region& at,
                           const std::string& what) const {
    source.refuse(path() + "." + std::string(key), at, what);
  }
  // One message for a wrong type and a value out of range: it shows the value and the accepted values.
  void read_value(const Key& key, const toml::node& node) const {
    if (!std::visit([&](auto* into) { return take(node, key.limits, *into); }, key.field)) {
      refuse(key.name, node.source(),
             key.name + " = " + shown(node) + " in " + title() + ": give " + allowed(key) +
                 did_you_mean(node.value_or(std::string()), key.limits.choices));
    }
    if (const toml::table* options = node.as_table()) {
      for (auto&& [name, option] : *options)
        read_option(key, key.name + " of " + title(), std::string(name.str()), option);
    }
  }
  // The options that a model, data set or policy has are checked later against its table. Here an option only
  // has to be a plain value, which the resolved job can repeat.
  void read_option(const Key& others, const std::string& title, const std::string& name,
                   const toml::node& node) const {
    std::vector<std::string> list;
    const bool good = (node.is_number() && std::isfinite(number_of(node))) || node.is_string() ||
                      node.is_boolean() || take_list(node, list);
    if (!good || !is_plain_name(name) || name.find('.') != std::string::npos) {
      refuse(name, node.source(),
             name + " = " + shown(node) + " in " + title + ": an option has a plain name and is a text, " +
                 "a number, true, false or a list of texts or numbers");
    }
    (*std::get<OptionTexts*>(others.field))[name] = !list.empty()       ? option_list_text(list)
                                                    : node.is_boolean() ? shown(node)
                                                                        : text_or_number(node).value_or("");
  }
  // Each [[name]] of a list.
  static std::vector<TomlSection> elements(const JobSource& source, const Schema& schema,
                                           const Section& section, const toml::node* list) {
    std::vector<TomlSection> all;
    for (std::size_t i = 0; list != nullptr && i < list->as_array()->size(); ++i) {
      const toml::table& table = *list->as_array()->get(i)->as_table();
      const std::string number = section.name + "-" + std::to_string(i);
      all.push_back(TomlSection(Text{source, schema, section, table, table["name"].value_or(number)}));
    }
    return all;
  }
};

TomlSection::TomlSection(Text text) : text_(std::make_shared<const Text>(std::move(text))) {}

// Called before anything is read, so that a misspelt section name does not end as "no worker".
void TomlSection::check_all(const JobSource& source, const Schema& schema) {
  for (auto&& [key, node] : source.root()) {
    const std::string name(key.str());
    const Section* section = name.find('.') == std::string::npos ? schema.find(name) : nullptr;
    if (section != nullptr) {
      check_shape(source, *section, key, node);
      continue;
    }
    std::vector<std::string> known;
    const Section* home = nullptr;  // the section that has this key: usually it stands above the first header
    for (const Section& it : schema.sections) {
      if (it.name.find('.') == std::string::npos) known.push_back(it.name);
      if (home == nullptr && !name.empty() && it.find(name) != nullptr) home = &it;
    }
    std::string what = "unknown key " + toml_quoted(name);
    if (node.is_table()) what = "unknown section [" + name + "]";
    if (node.is_array_of_tables()) what = "unknown section [[" + name + "]]";
    source.refuse(name, key.source(),
                  what + (home != nullptr ? "; put it under " + home->title() : among(name, known)));
  }
}

TomlSection TomlSection::of(const JobSource& source, const Schema& schema, const std::string& name) {
  const toml::table* table = source.root()[name].as_table();
  return TomlSection(Text{source, schema, schema.at(name), table != nullptr ? *table : no_keys});
}

std::vector<TomlSection> TomlSection::all_of(const JobSource& source, const Schema& schema,
                                             const std::string& name) {
  const Section& section = schema.at(name);
  const toml::node* node = source.root().get(name);
  if (node == nullptr) return {};
  if (section.kind == Kind::list) return Text::elements(source, schema, section, node);
  std::vector<TomlSection> parts;
  for (auto&& [key, part] : *node->as_table()) {
    const std::string text(key.str());
    if (!part.is_table()) {
      source.refuse(
          name + "." + text, key.source(),
          toml_quoted(text) + " in [" + name + "] must be a section: write " + section.title() + " above it");
    }
    parts.push_back(TomlSection(Text{source, schema, section, *part.as_table(), text, key.source()}));
  }
  return parts;
}

std::vector<TomlSection> TomlSection::all_below(const std::string& name) const {
  const Section& section = text_->schema.at(text_->section.name + "." + name);
  return Text::elements(text_->source, text_->schema, section, text_->table.get(name));
}

void TomlSection::read() const {
  const auto& [source, schema, section, table, part, place] = *text_;
  const Key* others = section.find("");
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    if (const Key* known = name.empty() ? nullptr : section.find(name)) {
      text_->read_value(*known, node);
    } else if (const Section* below = schema.find(section.name + "." + name)) {
      check_shape(source, *below, key, node);
    } else if (others != nullptr) {
      text_->read_option(*others, text_->title(), name, node);
    } else {
      std::vector<std::string> names;
      for (const Key& it : section.keys) names.push_back(it.name);
      text_->refuse(name, key.source(),
                    "unknown key " + toml_quoted(name) + " in " + text_->title() + among(name, names));
    }
  }
}

const std::string& TomlSection::part() const { return text_->part; }

bool TomlSection::given(const std::string& key) const { return text_->table.contains(key); }

std::string TomlSection::place(const std::string& key) const {
  const toml::node* node = text_->table.get(key);
  return text_->source.place_of(text_->path() + "." + key, node == nullptr ? text_->place : node->source());
}

void TomlSection::demand(bool holds, const std::string& key, const std::string& what) const {
  if (holds) return;
  if (const toml::node* node = text_->table.get(key)) text_->refuse(key, node->source(), what);
  text_->source.refuse(text_->path(), text_->place, what);
}

void TomlSection::demand_none(const std::optional<OptionTrouble>& trouble, const std::string& key) const {
  if (trouble) demand(false, trouble->option.empty() ? key : trouble->option, trouble->what);
}

void TomlSection::demand_none(const std::string& trouble, const std::string& key) const {
  demand(trouble.empty(), key, trouble);
}

}  // namespace steelyard
