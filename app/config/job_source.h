// The text of a job file as a tree, --set applied, with the place of everything for messages. The only header
// that shows toml++.
#pragma once

#include <toml++/toml.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/schema.h"

namespace steelyard {

// Files that people name, read as a whole.

// What is expected in a file, for messages: "job file", and the most that one may have.
struct InputKind {
  std::string name;
  std::size_t most_mb = 1;
  std::string remedy;  // what to do about a file that is not there
};

// Throws Failure (configuration) for what cannot be read, directories included, and what is too large.
std::string read_input(const std::string& path, const InputKind& kind);

// Whether a file is a job or a scenario: both are TOML with a [job] and [[worker]]s in it, and the keys tell.
class JobSource;

// A scenario says how long things take ([network], [[event]], a worker's time_ms and the like); a job says
// what is trained by which cluster. Throws Failure (configuration) if it is neither, or both.
enum class FileKind : std::uint8_t { job, scenario };
FileKind kind_of(std::string_view text, const std::string& file);

// The first thing in it that only scenarios have, as a person would write it: "[network]", "time_ms in
// [[worker]]". Empty if there is none.
std::string scenario_sign(const JobSource& source);

class JobSource {
 public:
  // Throws Failure (configuration) for what is not TOML, (usage) for a --set that is not key=value.
  JobSource(std::string_view text, std::string name, const std::vector<std::string>& overrides);

  [[nodiscard]] const toml::table& root() const { return root_; }

  // Gives keys that have a former name the present one, so that readers know only that. Throws Failure
  // (configuration) where both are given.
  void rename_former(const Schema& schema);
  // What the user should know of them, a sentence for each name.
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

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
  void rename_former(const Section& section, toml::table& table);
  std::vector<std::string> notices_;
  std::map<std::string, std::string> given_;  // dotted path of a key or section -> the --set that gave it
};

// A value as a message shows it.
std::string shown(const toml::node& node);

// A text, or a number as one; none for anything else.
std::optional<std::string> text_or_number(const toml::node& node);

}  // namespace steelyard
