#include "balancing/policies.h"

#include <algorithm>
#include <functional>

#include "balancing/policy/boa.h"
#include "balancing/policy/dlb.h"
#include "balancing/policy/equal.h"
#include "balancing/policy/lb_bsp.h"
#include "balancing/policy/lbb.h"
#include "balancing/policy/static_profile.h"
#include "balancing/policy/steelyard.h"
#include "balancing/predict/predictors.h"
#include "core/error.h"

namespace steelyard::balancing {
namespace {

using Made = std::unique_ptr<Policy>;

// One row a policy: what a job calls it, what it may be told, how it is made.
struct Entry {
  std::string name;
  std::vector<std::string> options;
  std::function<Made(const PolicyOptions&)> make;
};

[[noreturn]] void refuse(const std::string& message) { throw Failure(ExitCode::configuration, message); }

Made make_static(const PolicyOptions& options) {
  return std::make_unique<StaticProfile>(
      StaticOptions{numbers_option(options, "speeds"), curves_option(options, "curves_ms")});
}

Made make_lb_bsp(const PolicyOptions& options) {
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

Made make_dlb(const PolicyOptions& options) {
  return std::make_unique<Dlb>(DlbOptions{count_option(options, "rounds", DlbOptions{}.rounds)});
}

Made make_lbb(const PolicyOptions& options) {
  const std::string preset = word_option(options, "preset", {"paper", "as-released"});
  LbbOptions chosen = preset == "paper" ? LbbOptions{} : lbb_as_released();
  chosen.fine = number_option(options, "fine", chosen.fine, 0, 2);
  chosen.rapid = number_option(options, "rapid", chosen.rapid, 0, 100);
  chosen.step = count_option(options, "step", chosen.step);
  chosen.window = count_option(options, "window", chosen.window);
  chosen.guard = flag_option(options, "guard", chosen.guard);
  chosen.profile = curves_option(options, "profile_ms");
  chosen.profiled_start = word_option(options, "start", {"profile", "equal"}) == "profile";
  if (chosen.fine > chosen.rapid) refuse("policy lbb: fine is above rapid; lower fine or raise rapid");
  return std::make_unique<Lbb>(chosen);
}

Made make_boa(const PolicyOptions& options) {
  BoaOptions chosen;
  chosen.period = count_option(options, "period", chosen.period);
  chosen.deviation = number_option(options, "deviation", chosen.deviation, 0, 10);
  chosen.gain = number_option(options, "gain", chosen.gain, 0, 1);
  chosen.forgetting = number_option(options, "forgetting", chosen.forgetting, 0.5, 1.0000001);
  return std::make_unique<Boa>(chosen);
}

Made make_steelyard(const PolicyOptions& options) {
  SteelyardOptions chosen;
  chosen.least_gain = number_option(options, "least_gain", chosen.least_gain, 0, 1);
  chosen.caution = number_option(options, "caution", chosen.caution, 0, 10);
  chosen.profile = curves_option(options, "profile_ms");
  return std::make_unique<Steelyard>(std::move(chosen));
}

// Ordered as the help shows them: ours, baselines, published methods.
const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
      {"steelyard", {"least_gain", "caution", "profile_ms"}, make_steelyard},
      {"equal", {}, [](const PolicyOptions&) { return std::make_unique<Equal>(); }},
      {"static", {"speeds", "curves_ms"}, make_static},
      {"lb-bsp", {"predictor", "dead_band"}, make_lb_bsp},
      {"dlb", {"rounds"}, make_dlb},
      {"lbb", {"preset", "fine", "rapid", "step", "window", "guard", "profile_ms", "start"}, make_lbb},
      {"boa", {"period", "deviation", "gain", "forgetting"}, make_boa},
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
