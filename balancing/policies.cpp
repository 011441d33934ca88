#include "balancing/policies.h"

#include "balancing/policy/boa.h"
#include "balancing/policy/cannikin.h"
#include "balancing/policy/dlb.h"
#include "balancing/policy/equal.h"
#include "balancing/policy/lb_bsp.h"
#include "balancing/policy/lbb.h"
#include "balancing/policy/omnilearn.h"
#include "balancing/policy/orchestra.h"
#include "balancing/policy/static_profile.h"
#include "balancing/policy/steelyard_policy.h"
#include "core/error.h"

namespace steelyard::balancing {
namespace {

using Made = std::unique_ptr<Policy>;

[[noreturn]] void refuse(const std::string& message) { throw Failure(ExitCode::configuration, message); }

Made make_equal(const Options&) { return std::make_unique<Equal>(); }

Made make_static(const Options& options) {
  return std::make_unique<StaticProfile>(
      StaticOptions{numbers_option(options, "speeds"), curves_option(options, "curves_ms")});
}

Made make_lb_bsp(const Options& options, const PredictorTable& own_predictors) {
  return std::make_unique<LbBsp>(
      LbBspOptions{options.text("predictor"), options.number("dead_band"), own_predictors});
}

Made make_dlb(const Options& options) { return std::make_unique<Dlb>(DlbOptions{options.whole("rounds")}); }

// What is not given is as in the preset.
Made make_lbb(const Options& options) {
  LbbOptions chosen = options.text("preset") == "paper" ? LbbOptions{} : lbb_as_released();
  if (options.has("fine")) chosen.fine = options.number("fine");
  if (options.has("rapid")) chosen.rapid = options.number("rapid");
  if (options.has("step")) chosen.step = options.whole("step");
  if (options.has("window")) chosen.window = options.whole("window");
  if (options.has("guard")) chosen.guard = options.flag("guard");
  chosen.profile = curves_option(options, "profile_ms");
  chosen.profiled_start = options.text("start") == "profile";
  if (chosen.fine > chosen.rapid) refuse("fine is above rapid; lower fine or raise rapid");
  return std::make_unique<Lbb>(chosen);
}

Made make_boa(const Options& options) {
  return std::make_unique<Boa>(BoaOptions{options.whole("period"), options.number("deviation"),
                                          options.number("gain"), options.number("forgetting")});
}

Made make_omnilearn(const Options& options) {
  return std::make_unique<OmniLearn>(
      OmniLearnOptions{options.number("gain"), options.number("dead_band"), options.number("smoothing")});
}

Made make_cannikin(const Options& options) {
  return std::make_unique<Cannikin>(
      CannikinOptions{options.number("overlap"), options.number("last"), options.number("forgetting")});
}

Made make_orchestra(const Options& options) {
  OrchestraOptions chosen;
  chosen.search.unit = options.number("unit");
  chosen.search.most_apart = options.whole("most_apart");
  chosen.rounds = options.whole("rounds");
  if (options.text("controller") == "actor-critic") chosen.controller = orchestra::Controller::actor_critic;
  chosen.seed = options.whole("seed");
  return std::make_unique<Orchestra>(chosen);
}

Made make_steelyard(const Options& options) {
  SteelyardOptions chosen;
  chosen.move.least_gain = options.number("least_gain");
  chosen.move.caution = options.number("caution");
  chosen.profile = curves_option(options, "profile_ms");
  return std::make_unique<Steelyard>(std::move(chosen));
}

// ---- what each may be told; defaults are those of the policies' own structs

Option rounds_option(const char* name, std::optional<std::uint64_t> otherwise, const char* help) {
  return whole_option(name, otherwise, 1, 1'000'000'000, help);
}

// Of the preset, unless it is given.
Option preset_option(Option option) {
  option.otherwise.clear();
  option.help += "; left out: as in the preset";
  return option;
}

Option curves(const char* name, const char* help) { return text_option(name, "", help); }

std::vector<Option> lbb_options() {
  return {
      word_option("preset", "paper", {"paper", "as-released"},
                  "the published values, or those of the released code"),
      preset_option(number_option("fine", 0, 0, below(2), "straggling above which shares are tuned (FT)")),
      preset_option(
          number_option("rapid", 0, 0, below(100), "straggling above which they are solved anew (RT)")),
      preset_option(
          rounds_option("step", {}, "samples (or grains, where the model has them) that a tuning moves")),
      preset_option(rounds_option("window", {}, "rounds after a rapid step that allow small steps only")),
      preset_option(flag_option("guard", false, "against single outliers")),
      curves("profile_ms", "time curves measured before, as in \"half: 5.9 0.59; slow: 8.3 0.6\""),
      word_option("start", "profile", {"profile", "equal"}, "the first split, where there is a profile")};
}

std::vector<Option> boa_options() {
  const BoaOptions own;
  return {rounds_option("period", own.period, "rounds between two solutions"),
          number_option("deviation", own.deviation, 0, below(10),
                        "relative, of the longest time from the predicted one, that asks for one"),
          number_option("gain", own.gain, 0, below(1), "relative, below which a split is not worth a move"),
          number_option("forgetting", own.forgetting, 0.5, 1, "of the models, per measurement")};
}

std::vector<Option> omnilearn_options() {
  const OmniLearnOptions own;
  return {number_option("gain", own.gain, 0.01, below(2), "of the error in time that one move takes away"),
          number_option("dead_band", own.dead_band, 0, below(1),
                        "relative change of a share below which nothing moves"),
          number_option("smoothing", own.smoothing, 0.01, 1, "weight of the newest time; 1: none")};
}

std::vector<Option> cannikin_options() {
  const CannikinOptions own;
  return {number_option("overlap", own.overlap, 0, below(1),
                        "part of the compute time in which gradients leave already"),
          number_option("last", own.last, 0, 1, "part of the exchange that nothing hides"),
          number_option("forgetting", own.forgetting, 0.5, 1, "of the lines, per measurement; 1: none")};
}

std::vector<Option> orchestra_options() {
  const OrchestraOptions own;
  return {
      number_option("unit", own.search.unit, 0.001, 1,
                    "of T: of the search and of a move, in longest mini-batches"),
      whole_option("most_apart", own.search.most_apart, 0, 1'000'000, "local steps between two workers (M)"),
      rounds_option("rounds", own.rounds, "of an epoch, where requests do not tell theirs"),
      word_option("controller", "hill-climb", {"hill-climb", "actor-critic"},
                  "who moves the barrier once an epoch, under sync = \"orchestra\""),
      whole_option("seed", own.seed, 0, UINT32_MAX, "of the actor-critic")};
}

std::vector<Option> steelyard_options() {
  const MoveOptions own;
  return {number_option("least_gain", own.least_gain, 0, below(1),
                        "relative, below which nothing moves whatever is known"),
          number_option("caution", own.caution, 0, below(10),
                        "of the doubt about the slowest worker's time; 0: always solve"),
          curves("profile_ms", "time curves measured before, as in \"half: 5.9 0.59; slow: 8.3 0.6\"")};
}

}  // namespace

// Ordered as the help shows them: ours, baselines, published methods.
PolicyTable built_in_policies(const PredictorTable& own_predictors) {
  const auto lb_bsp = [own_predictors](const Options& options) {
    return make_lb_bsp(options, own_predictors);
  };
  return {
      {"steelyard", make_steelyard,
       "shares by measured time curves and what the next round will probably bring", steelyard_options()},
      {"equal", make_equal, "everybody gets the same: ordinary synchronous SGD"},
      {"static",
       make_static,
       "shares by speeds or time curves that you give, never changed",
       {text_option("speeds", "", "one number for each slot, as in \"100 80 40\""),
        curves("curves_ms", "ms over the share, low order first, as in \"half: 5.9 0.59; slow: 8.3 0.6\"")}},
      {"lb-bsp",
       lb_bsp,
       "shares in proportion to predicted speeds (Chen et al. 2020)",
       {word_option("predictor", LbBspOptions{}.predictor, predictor_names(own_predictors),
                    "how speeds are predicted"),
        number_option("dead_band", LbBspOptions{}.dead_band, 0, below(1),
                      "relative spread of predicted times below which nothing moves")}},
      {"dlb",
       make_dlb,
       "once an epoch, in proportion to the speeds of the epoch before (Ye et al. 2023)",
       {rounds_option("rounds", DlbOptions{}.rounds, "of an epoch, where requests do not tell theirs")}},
      {"lbb", make_lbb, "moves samples from the slowest to the quickest, on curves solved anew at need",
       lbb_options()},
      {"boa", make_boa, "the exact min-max program over a line for each worker (Yang et al. 2020)",
       boa_options()},
      {"omnilearn", make_omnilearn,
       "brings all to the mean time in proportion to the error (Tyagi et al. 2025)", omnilearn_options()},
      {"cannikin", make_cannikin,
       "the optimum on learned lines, exchange hidden by the backward pass (Nie et al. 2024)",
       cannikin_options()},
      {"orchestra", make_orchestra,
       "once an epoch, by the mini-batches that all end before a common barrier (Du et al. 2022)",
       orchestra_options()},
  };
}

std::unique_ptr<Policy> make_policy(const std::string& name, const PolicyOptions& options,
                                    const PolicyTable& own, const PredictorTable& own_predictors) {
  return make_choice("policy", name, options, own, built_in_policies(own_predictors));
}

void require_pacing(const std::string& name, Policy& policy) {
  if (policy.pacing() != nullptr) return;
  refuse("policy \"" + name +
         "\" does not say how long rounds are, and sync = \"orchestra\" leaves that to the policy: choose " +
         "policy = \"orchestra\", or another sync mode (diloco:H has rounds of one length)");
}

std::vector<std::string> policy_names(const PolicyTable& own) { return names_of(own, built_in_policies()); }

}  // namespace steelyard::balancing
