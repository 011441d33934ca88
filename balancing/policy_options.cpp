#include "balancing/policy_options.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace steelyard::balancing {
namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& remedy) {
  throw Failure(ExitCode::configuration, "policy option " + key + " = '" + value + "': " + remedy);
}

const std::string* find(const PolicyOptions& options, const std::string& key) {
  const auto found = options.find(key);
  return found == options.end() ? nullptr : &found->second;
}

// The numbers between spaces; none if one of the words is no number.
std::vector<double> numbers(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> values;
  for (std::string word; words >> word;) {
    const std::optional<double> value = number_in<double>(word);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

}  // namespace

double number_option(const PolicyOptions& options, const std::string& key, double fallback, double low,
                     double high) {
  const std::string* text = find(options, key);
  if (text == nullptr) return fallback;
  const std::optional<double> value = number_in<double>(*text);
  if (value && *value >= low && *value < high) return *value;
  refuse(key, *text,
         "give a number of at least " + std::to_string(low) + " and below " + std::to_string(high));
}

std::uint64_t count_option(const PolicyOptions& options, const std::string& key, std::uint64_t fallback) {
  const std::string* text = find(options, key);
  if (text == nullptr) return fallback;
  const std::optional<double> value = number_in<double>(*text);
  if (value && *value >= 1 && *value <= 1e9 && *value == std::floor(*value)) {
    return static_cast<std::uint64_t>(*value);
  }
  refuse(key, *text, "give a whole number of at least 1");
}

bool flag_option(const PolicyOptions& options, const std::string& key, bool fallback) {
  const std::string* text = find(options, key);
  if (text == nullptr) return fallback;
  if (*text == "true" || *text == "false") return *text == "true";
  refuse(key, *text, "give true or false");
}

std::string word_option(const PolicyOptions& options, const std::string& key,
                        const std::vector<std::string>& words) {
  const std::string* text = find(options, key);
  if (text == nullptr) return words.front();
  if (std::ranges::find(words, *text) != words.end()) return *text;
  refuse(key, *text, "choose one of " + listed(words));
}

std::vector<double> numbers_option(const PolicyOptions& options, const std::string& key) {
  const std::string* text = find(options, key);
  if (text == nullptr) return {};
  std::vector<double> values = numbers(*text);
  const bool good = !values.empty() && std::ranges::all_of(values, [](double v) { return v > 0; });
  if (!good) refuse(key, *text, "give a positive number for each slot, as in \"100 80 40\"");
  return values;
}

Profile curves_option(const PolicyOptions& options, const std::string& key) {
  const std::string* text = find(options, key);
  if (text == nullptr) return {};
  std::vector<Profile::Line> lines;
  std::istringstream parts(*text);
  for (std::string part; std::getline(parts, part, ';');) {
    const std::size_t colon = part.rfind(':');
    const std::string_view name = std::string_view(part).substr(0, colon == std::string::npos ? 0 : colon);
    Profile::Line line{std::string(trimmed(name)), {}};
    const std::vector<double> terms = numbers(colon == std::string::npos ? part : part.substr(colon + 1));
    if (terms.empty() || terms.size() > line.curve.terms.size()) {
      refuse(key, *text,
             "give one to four numbers in ms for each worker, as in \"half: 5.9 0.59; slow: 8.3 0.6\"");
    }
    for (std::size_t k = 0; k < terms.size(); ++k) line.curve.terms[k] = terms[k] / 1000;
    const bool twice =
        !line.name.empty() && std::ranges::find(lines, line.name, &Profile::Line::name) != lines.end();
    if (twice) refuse(key, *text, "worker '" + line.name + "' is listed twice");
    lines.push_back(std::move(line));
  }
  if (lines.empty()) refuse(key, *text, "give at least one curve, as in \"half: 5.9 0.59; slow: 8.3 0.6\"");
  return Profile(lines);
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

}  // namespace steelyard::balancing
