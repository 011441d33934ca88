// Choosing from tables of rows (include/steelyard/choice.h): a user's own and the built-in ones.
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

// What is wrong with the first option that is not as declared.
struct OptionTrouble {
  std::string option;
  std::string what;  // begins with `owner`: "model 'mlp'"
};
std::optional<OptionTrouble> trouble_in(const std::string& owner, const std::vector<Option>& declared,
                                        const OptionTexts& given);

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

// The rows of all these functions, in the order of their names: what the files of a folder hold
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
