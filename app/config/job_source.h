// The text of a job file as a tree, --set applied, with the place of everything for messages. The only header
// that shows toml++.
#pragma once

#include <toml++/toml.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

class JobSource {
 public:
  // Throws Failure (configuration) for what is not TOML, (usage) for a --set that is not key=value.
  JobSource(std::string_view text, std::string name, const std::vector<std::string>& overrides);

  [[nodiscard]] const toml::table& root() const { return root_; }

  // Throws Failure (configuration): place, then what is wrong and what to do. `path` is dotted, as in --set;
  // a value that --set gave has its place on the command line.
  [[noreturn]] void refuse(const std::string& path, const toml::source_region& source,
                           const std::string& what) const;

 private:
  void apply(const std::string& override_text);
  toml::table& section_for(const std::vector<std::string>& path, const std::string& argument);
  toml::table& worker_called(const std::string& name, const std::string& argument);

  std::string name_;
  toml::table root_;
  std::map<std::string, std::string> given_;  // dotted path of a key or section -> the --set that gave it
};

// A value as a message shows it.
std::string shown(const toml::node& node);

// A text, or a number as one; none for anything else.
std::optional<std::string> text_or_number(const toml::node& node);

}  // namespace steelyard
