// The text of a job file as a tree, with --set applied and source positions for messages. The only header
// that includes toml++.
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

// ---- input files, read as a whole

// The kind of file that is expected, its size limit, and a remedy, for messages.
struct InputKind {
  std::string name;
  std::size_t most_mb = 1;
  std::string remedy;                       // for a file that cannot be read
  ExitCode code = ExitCode::configuration;  // of the Failure
};

// Throws Failure with that code if the file cannot be read, is a directory, or is too large.
std::string read_input(const std::string& path, const InputKind& kind);

// ---- jobs and scenarios: both are TOML with [job] and [[worker]], and differ in their keys
class JobSource;

// A scenario has times ([network], [[event]], a worker's time_ms and the like); a job has a model, data and a
// cluster. Throws Failure (configuration) if the text is neither, or both.
enum class FileKind : std::uint8_t { job, scenario };
FileKind kind_of(std::string_view text, const std::string& file);

// The first section or key that only scenarios have, for messages: "[network]", "time_ms in [[worker]]".
// Empty if the file has neither.
std::string scenario_sign(const JobSource& source);

class JobSource {
 public:
  // Throws Failure (configuration) for text that is not TOML, (usage) for a --set that is not key=value.
  JobSource(std::string_view text, std::string name, const std::vector<std::string>& overrides);

  [[nodiscard]] const toml::table& root() const { return root_; }

  // Renames keys with a former name to the present one, so that readers handle only that. Throws Failure
  // (configuration) if both are given.
  void rename_former(const Schema& schema);
  // Warnings about former names, one sentence for each name.
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  // "FILE:LINE:COLUMN" of a value; if --set gave it, that argument. `path` is dotted, as in --set.
  [[nodiscard]] std::string place_of(const std::string& path, const toml::source_region& source) const;
  // Throws Failure (configuration): "PLACE: `what`".
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

// A value, formatted for messages.
std::string shown(const toml::node& node);

// A text, or a number as text; std::nullopt for any other value.
std::optional<std::string> text_or_number(const toml::node& node);

}  // namespace steelyard
