// What a job chooses by name - a model, a data set, a policy, a predictor - and what each of them can be
// told.
//
// Every row of a table declares its options: what may be given, what holds otherwise, and what it means.
// Checks, messages and `steelyard help model` are made from these rows. A maker gets its options complete and
// checked, for built-in rows and a user's own.
//
//   {"perceptron", perceptron, "two hidden layers", {whole_option("width", 32, 1, 4096, "units in each")}}
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"

namespace steelyard {

using OptionTexts = std::map<std::string, std::string>;  // as a job has them, by name

struct Option {
  std::string name;
  std::string otherwise;  // what holds where nothing is given; empty: nothing does
  std::string allowed;    // "a whole number from 1 to 4096": how a message ends that begins with "give"
  std::string help;       // a few words
  std::function<bool(const std::string&)> accepts;
};

// The upper end of a range: a number, or below() it.
struct Top {
  Top(double number, bool excluded = false) : value(number), below(excluded) {}
  double value;
  bool below;
};
inline Top below(double number) { return {number, true}; }

Option whole_option(std::string name, std::optional<std::uint64_t> otherwise, std::uint64_t least,
                    std::uint64_t most, std::string help);
Option number_option(std::string name, std::optional<double> otherwise, double least, Top most,
                     std::string help);
Option flag_option(std::string name, bool otherwise, std::string help);
Option word_option(std::string name, std::string otherwise, const std::vector<std::string>& words,
                   std::string help);
Option text_option(std::string name, std::string otherwise, std::string help);

// What is wrong with the first option that is not as declared.
struct OptionTrouble {
  std::string option;
  std::string what;  // begins with `owner`: "model 'mlp'"
};
std::optional<OptionTrouble> trouble_in(const std::string& owner, const std::vector<Option>& declared,
                                        const OptionTexts& given);

// The options of one model, data set or policy: declared ones only, each as it may be.
class Options {
 public:
  // Throws Failure (configuration) that says what trouble_in() does.
  Options(std::string owner, const std::vector<Option>& declared, const OptionTexts& given);

  // Whether it has a value, given or by default.
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  // Each throws Failure (configuration) for an option that is not declared, or is and has no value.
  [[nodiscard]] std::uint64_t whole(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] bool flag(const std::string& name) const { return text(name) == "true"; }
  [[nodiscard]] const std::string& text(const std::string& name) const;

 private:
  std::string owner_;
  OptionTexts values_;
};

// A row of a table. `Make` is a function type that ends in const Options&.
template <class Make>
struct Choice {
  Choice(std::string its_name, std::function<Make> its_make, std::string its_help = {},
         std::vector<Option> its_options = {})
      : name(std::move(its_name)),
        make(std::move(its_make)),
        help(std::move(its_help)),
        options(std::move(its_options)) {}

  std::string name;
  std::function<Make> make;
  std::string help;  // one plain sentence
  std::vector<Option> options;
};
template <class Make>
using Choices = std::vector<Choice<Make>>;

// All names, the user's own first.
template <class Make>
std::vector<std::string> names_of(const Choices<Make>& own, const Choices<Make>& built_in) {
  std::vector<std::string> names;
  for (const Choices<Make>* rows : {&own, &built_in}) {
    for (const Choice<Make>& row : *rows) names.push_back(row.name);
  }
  return names;
}

// The user's row first: it may give a built-in name another meaning. Null if there is none.
template <class Make>
const Choice<Make>* find_choice(const std::string& name, const Choices<Make>& own,
                                const Choices<Make>& built_in) {
  for (const Choices<Make>* rows : {&own, &built_in}) {
    for (const Choice<Make>& row : *rows) {
      if (row.name == name) return &row;
    }
  }
  return nullptr;
}

// The rows of all these functions, in the order of their names: what the files of a folder hold (steelyard_table in
// cmake/steelyard_targets.cmake).
template <class Rows, class... Arguments>
auto table_of(std::span<Rows* const> files, const Arguments&... arguments) {
  std::invoke_result_t<Rows*, const Arguments&...> table;
  for (Rows* const rows : files) {
    for (auto& row : rows(arguments...)) table.push_back(std::move(row));
  }
  std::ranges::sort(table, {}, [](const auto& row) -> const std::string& { return row.name; });
  return table;
}

// Runs what may be a user's code. Whatever it throws is a Failure that begins with `owner`.
void in_name_of(const std::string& owner, const std::function<void()>& work);

// The thing of this name and kind ("model"), made. Throws Failure (configuration) for a name or an option
// that there is not, and whatever making it throws, as in_name_of() does.
template <class Make, class... First>
auto make_choice(const std::string& kind, const std::string& name, const OptionTexts& given,
                 const Choices<Make>& own, const Choices<Make>& built_in, const First&... first) {
  const Choice<Make>* row = find_choice(name, own, built_in);
  if (row == nullptr) {
    throw Failure(ExitCode::configuration,
                  "there is no " + kind + " '" + name + "'" + among(name, names_of(own, built_in)));
  }
  const std::string owner = kind + " '" + name + "'";
  std::optional<decltype(row->make(first..., std::declval<const Options&>()))> made;
  in_name_of(owner, [&] { made.emplace(row->make(first..., Options(owner, row->options, given))); });
  return std::move(*made);
}

}  // namespace steelyard
