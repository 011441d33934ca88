#include "balancing/policies.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "balancing/allocate/split.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard::balancing {
namespace {

[[noreturn]] void refuse_option(const std::string& key, const std::string& value, const std::string& remedy) {
  refuse_setup("option " + key + " = '" + value + "': " + remedy);
}

// The numbers in the text, separated by spaces; empty if a word is not a number.
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

PolicyTable built_in_policies(const PredictorTable& own_predictors) {
  return table_of(policy_files(), own_predictors);
}

std::unique_ptr<Policy> make_policy(const std::string& name, const PolicyOptions& options,
                                    const PolicyTable& own, const PredictorTable& own_predictors) {
  return make_choice("policy", name, options, own, built_in_policies(own_predictors));
}

void require_pacing(const std::string& name, Policy& policy) {
  if (policy.pacing() != nullptr) return;
  refuse_setup("policy \"" + name +
               "\" does not say how long rounds are, and sync = \"orchestra\" leaves that to the "
               "policy: choose policy = \"orchestra\", or another sync mode (diloco:H has rounds of one "
               "length)");
}

std::vector<std::string> policy_names(const PolicyTable& own) { return names_of(own, built_in_policies()); }

Option rounds_option(const char* name, std::optional<std::uint64_t> otherwise, const char* help) {
  return whole_option(name, otherwise, 1, 1'000'000'000, help);
}

std::vector<double> numbers_option(const Options& options, const std::string& key) {
  if (!options.has(key)) return {};
  const std::string& text = options.text(key);
  std::vector<double> values = numbers(text);
  const bool good = !values.empty() && std::ranges::all_of(values, [](double v) { return v > 0; });
  if (!good) refuse_option(key, text, "give a positive number for each slot, as in \"100 80 40\"");
  return values;
}

Profile curves_option(const Options& options, const std::string& key) {
  return options.has(key) ? Profile(curves_in(options.text(key), key)) : Profile();
}

std::vector<Profile::Line> curves_in(const std::string& text, const std::string& key) {
  std::vector<Profile::Line> lines;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    const std::size_t colon = part.rfind(':');
    const std::string_view name = std::string_view(part).substr(0, colon == std::string::npos ? 0 : colon);
    Profile::Line line{std::string(trimmed(name)), {}};
    const std::vector<double> terms = numbers(colon == std::string::npos ? part : part.substr(colon + 1));
    if (terms.empty() || terms.size() > line.curve.terms.size()) {
      refuse_option(
          key, text,
          "give one to four numbers in ms for each worker, as in \"half: 5.9 0.59; slow: 8.3 0.6\"");
    }
    for (std::size_t k = 0; k < terms.size(); ++k) line.curve.terms[k] = terms[k] / 1000;
    const bool possible =
        std::ranges::all_of(line.curve.terms, [](double it) { return std::abs(it) <= longest_time; });
    if (!possible || !(line.curve(1) > 0))
      refuse_option(key, text, "'" + part + "' is not a compute time: give that of each worker in ms");
    const bool twice =
        !line.name.empty() && std::ranges::find(lines, line.name, &Profile::Line::name) != lines.end();
    if (twice) refuse_option(key, text, "worker '" + line.name + "' is listed twice");
    lines.push_back(std::move(line));
  }
  if (lines.empty())
    refuse_option(key, text, "give at least one curve, as in \"half: 5.9 0.59; slow: 8.3 0.6\"");
  return lines;
}

}  // namespace steelyard::balancing
