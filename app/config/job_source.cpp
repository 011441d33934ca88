#include "app/config/job_source.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "app/config/toml_section.h"
#include "core/error.h"

namespace steelyard {

std::string read_input(const std::string& path, const InputKind& kind) {
  constexpr std::size_t piece = 1 << 16;
  const std::size_t most = kind.most_mb << 20;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  // Not by the file size: a pipe has none.
  while (in && text.size() <= most) {
    const std::size_t before = text.size();
    text.resize(before + piece);
    in.read(text.data() + before, piece);
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  // Opening a directory succeeds; reading it fails.
  if (!in.is_open() || in.bad()) throw Failure(kind.code, path + ": cannot be read: " + kind.remedy);
  if (text.size() > most) {
    throw Failure(kind.code, path + ": has more than " + std::to_string(kind.most_mb) +
                                 " MB, the limit of this kind of file (" + kind.name + "): " + kind.remedy);
  }
  return text;
}

namespace {

std::string job_sign(const toml::table& root) {
  for (const char* section : {"cluster", "train", "model", "data"}) {
    if (root.contains(section)) return "[" + std::string(section) + "]";
  }
  return "";
}

// The first of these keys that the table has; empty if it has none.
std::string first_of(const toml::table& table, const std::string& section,
                     std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (table.contains(key)) return std::string(key) + " in " + section;
  }
  return "";
}

// Joins the lines of a parser message, since our messages are one line.
std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\n' || c == '\r' ? ' ' : c;
  return result;
}

// Turns errors of toml++ into Failure, with a message of one line.
toml::table parse(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    refuse_setup(name + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                 ": this is not TOML; correct it: " + one_line(error.description()));
  }
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  std::stringstream in(path);
  for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
  return parts;
}

// Parses the value after "=" as TOML; if it is not TOML, such as a word without quotes, it is a text.
void put(toml::table& section, const std::string& key, const std::string& value) {
  try {
    toml::table parsed = toml::parse("value = " + value);
    // Several keys mean that the value contains a newline.
    if (parsed.size() == 1) {
      section.insert_or_assign(key, std::move(*parsed.get("value")));
      return;
    }
  } catch (const toml::parse_error&) {
  }
  section.insert_or_assign(key, value);
}

[[noreturn]] void refuse_argument(const std::string& argument, const std::string& what) {
  refuse_usage("--set " + argument + ": " + what);
}

}  // namespace

std::string scenario_sign(const JobSource& source) {
  const toml::table& root = source.root();
  if (root.contains("network")) return "[network]";
  if (root.contains("event")) return "[[event]]";
  if (const toml::table* job = root["job"].as_table()) {
    std::string found = first_of(*job, "[job]", {"global_batch", "samples_per_epoch"});
    if (!found.empty()) return found;
  }
  if (const toml::array* workers = root["worker"].as_array()) {
    for (const toml::node& worker : *workers) {
      if (!worker.is_table()) continue;
      std::string found = first_of(*worker.as_table(), "[[worker]]",
                                   {"time_ms", "samples_per_s", "profile", "recorded", "trace"});
      if (!found.empty()) return found;
    }
  }
  return "";
}

FileKind kind_of(std::string_view text, const std::string& file) {
  const JobSource source(text, file, {});
  const std::string scenario = scenario_sign(source), job = job_sign(source.root());
  // A scenario may have [model] and [data] too, but no [cluster]: its [[worker]] sections describe the
  // cluster.
  if (!scenario.empty() && source.root().contains("cluster")) {
    refuse_setup(file + ": it has " + scenario +
                 ", as scenarios do, and [cluster], as jobs do: make two files "
                 "of it (steelyard help job, steelyard help scenario)");
  }
  if (!scenario.empty()) return FileKind::scenario;
  if (!job.empty()) return FileKind::job;
  refuse_setup(
      file +
      ": it is neither a job nor a scenario: a job needs [model], [data] or [cluster], a scenario needs "
      "[[worker]] with time_ms or samples_per_s (steelyard help job, steelyard help scenario)");
}

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

// Adds sections that the file does not have.
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

// --set can change workers, not add them. They are found by the names that messages and summaries show.
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
  refuse_argument(argument, "no worker in " + name_ + " is named " + toml_quoted(name) + among(name, names));
}

void JobSource::rename_former(const Schema& schema) {
  for (const Section& section : schema.sections) {
    const std::size_t point = section.name.find('.');
    const std::string below = point == std::string::npos ? "" : section.name.substr(point + 1);
    toml::node* home = root_.get(section.name.substr(0, point));
    if (home == nullptr) continue;
    if (toml::table* table = home->as_table()) rename_former(section, *table);
    toml::array* list = home->as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      toml::table* table = list->get(i)->as_table();
      if (table != nullptr && below.empty()) rename_former(section, *table);
      toml::array* parts = table == nullptr || below.empty() ? nullptr : (*table)[below].as_array();
      for (std::size_t j = 0; parts != nullptr && j < parts->size(); ++j)
        if (toml::table* part = parts->get(j)->as_table()) rename_former(section, *part);
    }
  }
}

void JobSource::rename_former(const Section& section, toml::table& table) {
  for (const Key& key : section.keys) {
    const auto old = key.former.empty() ? table.end() : table.find(key.former);
    if (old == table.end()) continue;
    const std::string what = key.former + " in " + section.title() + " is now called " + key.name;
    if (table.contains(key.name))
      refuse(section.name + "." + key.former, old->first.source(),
             what + ", and both are given: leave one out");
    table.insert_or_assign(key.name, std::move(old->second));
    table.erase(key.former);
    const std::string notice = name_ + ": " + what + ": the old name will be removed in the next release";
    if (std::ranges::find(notices_, notice) == notices_.end()) notices_.push_back(notice);
    for (auto& [path, argument] : std::map(given_)) {
      if (!path.starts_with(section.name + ".") || !path.ends_with("." + key.former)) continue;
      given_[path.substr(0, path.size() - key.former.size()) + key.name] = argument;
      given_.erase(path);
    }
  }
}

std::string JobSource::place_of(const std::string& path, const toml::source_region& source) const {
  // An argument for a section is one for all that is in it.
  for (std::size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('.', end - 1)) {
    const std::string part = path.substr(0, end);
    if (const auto set = given_.find(part); set != given_.end()) return "--set " + set->second;
  }
  if (source.begin.line == 0) return name_;
  return name_ + ":" + std::to_string(source.begin.line) + ":" + std::to_string(source.begin.column);
}

void JobSource::refuse(const std::string& path, const toml::source_region& source,
                       const std::string& what) const {
  refuse_setup(place_of(path, source) + ": " + what);
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
