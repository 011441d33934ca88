#include "app/launch/process_options.h"

#include <CLI/CLI.hpp>

#include <concepts>
#include <cstdio>

#include "app/processes/process_keys.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

template <class Value>
constexpr bool is_list = std::same_as<Value, std::vector<std::string>>;

// The placeholder of a value in the help.
std::string type_name(const Key& key) {
  if (!key.limits.choices.empty()) {
    std::string all;
    for (const std::string& choice : key.limits.choices) all += (all.empty() ? "{" : ",") + choice;
    return all + "}";
  }
  return std::visit(
      []<class Value>(const Value*) {
        if constexpr (is_list<Value>) return "KEY=VALUE";
        if constexpr (std::same_as<Value, double>) return "FLOAT";
        if constexpr (std::signed_integral<Value>) return "INT";
        if constexpr (std::integral<Value>) return "UINT";
        return "TEXT";
      },
      key.field);
}

std::string help_of(const Key& key) {
  const bool range = key.limits.in_help && key.limits.choices.empty();
  return range ? key.help + ": " + allowed(key) : key.help;
}

void take(const Key& key, const std::string& name, const std::string& text) {
  if (take_text(key, text)) return;
  auto* const complaint = key.limits.complaint;
  throw CLI::ValidationError(
      name, complaint != nullptr ? complaint(text) : toml_quoted(text) + ": give " + allowed(key));
}

CLI::Option* add_option(CLI::App& command, const Key& key, const std::string& names) {
  return std::visit(
      [&]<class Value>(Value* into) -> CLI::Option* {
        if constexpr (std::same_as<Value, bool>) return command.add_flag(names, *into, help_of(key));
        const std::string name = option_name(key.name);
        if constexpr (is_list<Value>) {
          return command
              .add_option_function<std::vector<std::string>>(
                  names,
                  [=](const std::vector<std::string>& all) {
                    for (const std::string& text : all) take(key, name, text);
                  },
                  help_of(key))
              ->allow_extra_args(false);
        } else {
          return command.add_option_function<std::string>(
              names, [=](const std::string& text) { take(key, name, text); }, help_of(key));
        }
      },
      key.field);
}

// A former name is still accepted as an option, but not shown in the help.
void add_former(CLI::App& command, const Key& key) {
  const std::string former = option_name(key.former), present = option_name(key.name);
  Key old = key;
  old.help.clear();
  add_option(command, old, former)->group("")->each([=](const std::string&) {
    std::fprintf(stderr, "steelyard: %s is now %s: the old name will be removed in the next release\n",
                 former.c_str(), present.c_str());
  });
}

void add(CLI::App& command, const Key& key) {
  const Key::Elsewhere& places = key.elsewhere;
  const std::string short_option = places.short_option.empty() ? "" : "," + places.short_option;
  CLI::Option* option = add_option(command, key, option_name(key.name) + short_option);
  if (!std::holds_alternative<bool*>(key.field)) option->type_name(type_name(key));
  if (places.environment) {
    option->envname(variable_name(key.name));
    if (auto* const* text = std::get_if<std::string*>(&key.field)) option->default_str(**text);
  }
  if (!places.in_help) option->group("");
  option->required(places.required);
  if (!key.former.empty()) add_former(command, key);
}

// The arguments that set the key to its present value.
std::vector<std::string> words_of(const Key& key) {
  const std::string name = option_name(key.name);
  // A value that begins with '-' would be read as an option.
  const auto with = [&](const std::string& text) {
    return text.starts_with('-') ? std::vector{name + "=" + text} : std::vector{name, text};
  };
  return std::visit(
      [&]<class Value>(const Value* value) -> std::vector<std::string> {
        if constexpr (std::same_as<Value, bool>)
          return *value ? std::vector{name} : std::vector<std::string>{};
        if constexpr (std::same_as<Value, std::string>) return with(*value);
        if constexpr (std::same_as<Value, double>) return with(number_text(*value));
        if constexpr (std::integral<Value>) return with(std::to_string(*value));
        std::vector<std::string> words;
        if constexpr (is_list<Value>) {
          for (const std::string& each : *value)
            for (std::string& word : with(each)) words.push_back(std::move(word));
        }
        return words;
      },
      key.field);
}

template <class Options>
std::vector<std::string> words_of(const Options& given) {
  Options options = given, defaults;
  const std::vector<Key> keys = process_keys(options), usual = process_keys(defaults);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // The environment on its host could set another value than the default.
    const bool always = keys[i].elsewhere.environment;
    const std::vector<std::string> option = words_of(keys[i]);
    if (always || option != words_of(usual[i])) words.insert(words.end(), option.begin(), option.end());
  }
  return words;
}

}  // namespace

void add_keys(CLI::App& command, const std::vector<Key>& keys) {
  for (const Key& key : keys) add(command, key);
}

std::vector<std::string> arguments_of(const SchedulerOptions& options) { return words_of(options); }
std::vector<std::string> arguments_of(const ServerOptions& options) { return words_of(options); }
std::vector<std::string> arguments_of(const WorkerOptions& options) { return words_of(options); }

}  // namespace steelyard
