// Selection from tables of choices (include/steelyard/choice.h): the user's rows and the built-in ones.
#pragma once

#include <steelyard/choice.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"

namespace steelyard {

// The first given option that does not match its declaration.
struct OptionTrouble {
  std::string option;
  std::string what;  // error message, begins with `owner`: "model 'mlp'"
};
std::optional<OptionTrouble> trouble_in(const std::string& owner, const std::vector<Option>& declared,
                                        const OptionTexts& given);

// All names, the user's first.
template <class Make>
std::vector<std::string> names_of(const Choices<Make>& own, const Choices<Make>& built_in) {
  std::vector<std::string> names;
  for (const Choices<Make>* rows : {&own, &built_in}) {
    for (const Choice<Make>& row : *rows) names.push_back(row.name);
  }
  return names;
}

// Searches the user's rows first, so that they can override built-in names. Null if not found.
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

// The rows returned by all these functions, sorted by name. One function per file of a folder
// (steelyard_table in cmake/steelyard_targets.cmake).
template <class Rows, class... Arguments>
auto table_of(std::span<Rows* const> files, const Arguments&... arguments) {
  std::invoke_result_t<Rows*, const Arguments&...> table;
  for (Rows* const rows : files) {
    for (auto& row : rows(arguments...)) table.push_back(std::move(row));
  }
  std::ranges::sort(table, {}, [](const auto& row) -> const std::string& { return row.name; });
  return table;
}

// Runs code that may be the user's. Rethrows any exception as a Failure; its message begins with `owner`.
void in_name_of(const std::string& owner, const std::function<void()>& work);

// Makes the object of this kind ("model") and name. Throws Failure (configuration) for an unknown name or
// option, and converts exceptions of the maker as in_name_of() does.
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
