// `steelyard help job`, `help scenario` and `help hosts`.
#include <sstream>

#include "config/schema.h"

namespace steelyard {
namespace {

constexpr std::size_t help_column = 30, width = 110;

// `help` in its column, in as many lines as it takes; `line` is what stands left of it.
std::string entry(std::string line, const std::string& help, std::size_t column = help_column) {
  std::string text;
  line.resize(std::max(line.size() + 1, column), ' ');
  std::istringstream words(help);
  for (std::string word; words >> word;) {
    if (line.size() + word.size() > width) {
      text += line + "\n";
      line = std::string(column, ' ');
    }
    line += (line.back() == ' ' ? "" : " ") + word;
  }
  return text + line + "\n";
}

std::string entry(const Key& key) {
  if (key.name.empty()) return entry("  ...", key.help);
  const std::string value = key.example.empty() ? value_text(key) : key.example;
  std::string text = key.heading.empty() ? "" : entry("  #", key.heading, 4);
  text += entry("  " + key.name + " = " + value, key.help);
  if (key.limits.in_help) text += entry("", allowed(key), help_column + 2);
  return text;
}

}  // namespace

std::string describe(const Schema& schema) {
  std::string text = schema.intro.empty() ? "" : schema.intro + "\n";
  for (const Section& section : schema.sections) {
    text += section.title() + "  " + section.help + "\n";
    if (section.kind == Section::Kind::named) continue;  // its title says what it holds
    for (const Key& key : section.keys) text += entry(key);
  }
  return text;
}

}  // namespace steelyard
