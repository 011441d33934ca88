#include "balancing/policies.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "balancing/policy/equal.h"
#include "balancing/policy/lb_bsp.h"
#include "balancing/predict/predictors.h"
#include "core/error.h"

namespace steelyard::balancing {
namespace {

// One row a policy: what a job calls it, what it may be told, how it is made.
struct Entry {
  std::string name;
  std::vector<std::string> options;
  std::function<std::unique_ptr<Policy>(const PolicyOptions&)> make;
};

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

[[noreturn]] void refuse(const std::string& message) { throw Failure(ExitCode::configuration, message); }

// A number in [low, high), or the default if the job does not name it.
double number_option(const PolicyOptions& options, const std::string& key, double fallback, double low,
                     double high) {
  const auto found = options.find(key);
  if (found == options.end()) return fallback;
  const std::string& text = found->second;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= low && value < high) return value;
  refuse("policy option " + key + " = '" + text + "': give a number of at least " + std::to_string(low) +
         " and below " + std::to_string(high));
}

std::unique_ptr<Policy> make_lb_bsp(const PolicyOptions& options) {
  LbBspOptions chosen;
  if (const auto found = options.find("predictor"); found != options.end()) chosen.predictor = found->second;
  // Asked here and not in the predictors' own table, so that the message says which policy it is about.
  const std::vector<std::string> known = predictor_names();
  if (std::find(known.begin(), known.end(), chosen.predictor) == known.end()) {
    refuse("policy lb-bsp: unknown predictor '" + chosen.predictor + "'; choose one of " + listed(known));
  }
  chosen.dead_band = number_option(options, "dead_band", chosen.dead_band, 0, 1);
  return std::make_unique<LbBsp>(chosen);
}

// Ordered as the help shows them: baselines first.
const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
      {"equal", {}, [](const PolicyOptions&) { return std::make_unique<Equal>(); }},
      {"lb-bsp", {"predictor", "dead_band"}, make_lb_bsp},
  };
  return entries;
}

}  // namespace

std::unique_ptr<Policy> make_policy(const std::string& name, const PolicyOptions& options) {
  const auto entry =
      std::find_if(table().begin(), table().end(), [&](const Entry& e) { return e.name == name; });
  if (entry == table().end()) {
    refuse("unknown policy '" + name + "'; choose one of " + listed(policy_names()));
  }
  for (const auto& [key, value] : options) {
    if (std::find(entry->options.begin(), entry->options.end(), key) == entry->options.end()) {
      refuse("policy " + name + " has no option '" + key + "'; its options: " + listed(entry->options));
    }
  }
  return entry->make(options);
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.push_back(entry.name);
  return names;
}

}  // namespace steelyard::balancing
