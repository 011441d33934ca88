#include "app/config/job_source.h"

#include <sstream>

#include "app/config/toml_text.h"
#include "core/error.h"
#include "core/near_match.h"

namespace steelyard {
namespace {

// Some of the parser's explanations run over several lines; a message is one.
std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\n' || c == '\r' ? ' ' : c;
  return result;
}

// toml++ throws errors of its own; ours say what to look at in one line.
toml::table parse(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw Failure(ExitCode::configuration, name + ":" + std::to_string(at.line) + ":" +
                                               std::to_string(at.column) +
                                               ": this is not TOML: " + one_line(error.description()));
  }
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  std::stringstream in(path);
  for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
  return parts;
}

// What stands behind "=" may be TOML, and usually is; a word without quotes is a text.
void put(toml::table& section, const std::string& key, const std::string& value) {
  try {
    toml::table parsed = toml::parse("value = " + value);
    // More than one key: there was a newline in the value.
    if (parsed.size() == 1) {
      section.insert_or_assign(key, std::move(*parsed.get("value")));
      return;
    }
  } catch (const toml::parse_error&) {
  }
  section.insert_or_assign(key, value);
}

[[noreturn]] void refuse_argument(const std::string& argument, const std::string& what) {
  throw Failure(ExitCode::usage, "--set " + argument + ": " + what);
}

}  // namespace

JobSource::JobSource(std::string_view text, std::string name, const std::vector<std::string>& overrides)
    : name_(std::move(name)), root_(parse(text, name_)) {
  for (const std::string& argument : overrides) apply(argument);
}

void JobSource::apply(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) refuse_argument(argument, "give it as section.key=value");
  const std::string dotted = argument.substr(0, equals);
  const std::vector<std::string> path = split(dotted);
  const bool deep = !path.empty() && (path[0] == "policy" || path[0] == "worker");
  if (path.size() != (deep ? 3 : 2)) {
    refuse_argument(argument,
                    "give it as section.key=value, policy.<policy>.<option>=value or "
                    "worker.<name>.<key>=value");
  }
  put(section_for(path, argument), path.back(), argument.substr(equals + 1));
  given_[dotted] = argument;
}

// Sections that the file does not have are made: --set may say more than the file.
toml::table& JobSource::section_for(const std::vector<std::string>& path, const std::string& argument) {
  if (path[0] == "worker") return worker_called(path[1], argument);
  toml::table* section = &root_;
  std::string dotted;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const auto [place, is_new] = section->emplace<toml::table>(path[i]);
    dotted += (i > 0 ? "." : "") + path[i];
    if (is_new) given_.try_emplace(dotted, argument);
    section = place->second.as_table();
    if (section == nullptr) refuse_argument(argument, "\"" + path[i] + "\" is not a section in " + name_);
  }
  return *section;
}

// Workers cannot be added this way, only changed; they go by the names that messages and summaries use.
toml::table& JobSource::worker_called(const std::string& name, const std::string& argument) {
  std::vector<std::string> names;
  if (toml::array* workers = root_["worker"].as_array()) {
    for (std::size_t i = 0; i < workers->size(); ++i) {
      toml::table* worker = workers->get(i)->as_table();
      if (worker == nullptr) continue;
      names.push_back((*worker)["name"].value_or("worker-" + std::to_string(i)));
      if (names.back() == name) return *worker;
    }
  }
  refuse_argument(argument, "no worker in " + name_ + " is called " + toml_quoted(name) + among(name, names));
}

void JobSource::refuse(const std::string& path, const toml::source_region& source,
                       const std::string& what) const {
  const auto set = given_.find(path);
  std::string place = name_;
  if (set != given_.end()) {
    place = "--set " + set->second;
  } else if (source.begin.line > 0) {
    place += ":" + std::to_string(source.begin.line) + ":" + std::to_string(source.begin.column);
  }
  throw Failure(ExitCode::configuration, place + ": " + what);
}

std::string shown(const toml::node& node) {
  if (node.is_table()) return "a section";
  if (node.is_array()) return "a list";
  if (const auto* text = node.as_string()) return toml_quoted(text->get());
  std::ostringstream out;
  out << std::boolalpha;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) out << value.get();
  });
  return out.str();
}

std::optional<std::string> text_or_number(const toml::node& node) {
  if (const auto* number = node.as_floating_point()) return number_text(**number);
  if (const auto* number = node.as_integer()) return std::to_string(**number);
  return node.value_exact<std::string>();
}

}  // namespace steelyard
