#include "protocol/sync_mode.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>

#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::uint64_t most_slack = 1000;                     // rounds that the quickest worker may be ahead
constexpr std::uint64_t most_local_steps = 1 << 20;            // in a round
constexpr std::uint64_t most_parts = 10'000;                   // of a global batch, each a step
constexpr std::uint64_t most_backup = 65'535;                  // workers that are not waited for
constexpr double constant_lambda = 0.04, adaptive_lambda = 2;  // where nothing else is said
constexpr std::string_view balanced_name = "diloco:", hubs_name = "mll:";
constexpr std::string_view graph_names[] = {"complete", "ring", "line"};  // in the order of Hubs::Graph
constexpr std::uint64_t most_rounds_unmixed = 1 << 20, most_drawn_steps = 1024;

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = number_in<std::uint64_t>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

// What follows a mode's name and colon, if that is how the text begins.
std::optional<std::string_view> after(std::string_view name, std::string_view text) {
  return text.starts_with(name) ? std::optional(text.substr(name.size())) : std::nullopt;
}

std::optional<SyncMode> local_mode(std::string_view text) {
  SyncMode mode;
  constexpr std::string_view equal = ":equal";
  mode.equal_weights = text.ends_with(equal);
  if (mode.equal_weights) text.remove_suffix(equal.size());
  if (const auto steps = after("local:", text)) {
    mode.local = number(*steps, 1, most_local_steps).value_or(0);
  } else if (text == "oneshot:epoch" || text == "oneshot:end") {
    mode.local = 1;
    mode.span = text == "oneshot:epoch" ? SyncMode::Span::epoch : SyncMode::Span::job;
  }
  return mode.is_local() ? std::optional(mode) : std::nullopt;
}

SyncMode asp() {
  return {.slack = most_open_rounds - 1, .on_arrival = true, .divide_by_push = true, .on_demand = true};
}

// `text`: what follows dc-asgd.
std::optional<SyncMode> compensated_mode(std::string_view text) {
  SyncMode mode = asp();
  mode.compensation = SyncMode::Compensation::constant, mode.lambda = constant_lambda;
  if (const auto rest = after(":adaptive", text)) {
    mode.compensation = SyncMode::Compensation::adaptive, mode.lambda = adaptive_lambda;
    text = *rest;
  }
  if (text.empty()) return mode;
  const auto given = after(":", text);
  const auto lambda = given ? number_in<double>(*given) : std::nullopt;
  if (!lambda || std::signbit(*lambda)) return std::nullopt;
  mode.lambda = *lambda;
  return mode;
}

std::optional<SyncMode> gathering_mode(std::string_view text) {
  SyncMode mode = asp();
  if (const auto parts = after("nsoft:", text)) {
    mode.need = {1, number(*parts, 1, most_parts).value_or(0)};
    mode.damped = true;
    return mode.need.of > 0 ? std::optional(mode) : std::nullopt;
  }
  if (const auto shares = after("ksoft:", text)) {
    mode.need = {number(*shares, 1, most_parts).value_or(0), 0};
    return mode.gathers() ? std::optional(mode) : std::nullopt;
  }
  mode.need = {1, 2};
  return text == "eager" ? std::optional(mode) : std::nullopt;
}

// `text`: TAU:Q:HUBS, perhaps with a graph.
std::optional<SyncMode> hubs_mode(std::string_view text) {
  std::vector<std::string_view> words;
  for (const auto word : std::views::split(text, ':')) words.emplace_back(word.begin(), word.end());
  if (words.size() != 3 && words.size() != 4) return std::nullopt;
  const auto local = number(words[0], 1, most_drawn_steps), every = number(words[1], 1, most_rounds_unmixed),
             hubs = number(words[2], 1, most_hubs);
  if (!local || !every || !hubs) return std::nullopt;
  Hubs graph{static_cast<HubNumber>(*hubs), *every};
  if (words.size() == 4) {
    const auto name = std::ranges::find(graph_names, words[3]);
    if (name == std::end(graph_names)) return std::nullopt;
    graph.graph = static_cast<Hubs::Graph>(name - std::begin(graph_names));
  }
  return SyncMode{.local = *local, .balanced = true, .hubs = graph};
}

std::optional<SyncMode> parsed(std::string_view text) {
  if (text == "bsp") return SyncMode();
  if (text == "flexrr") return SyncMode{.hand_over = true};
  if (const auto workers = after("backup:", text)) {
    const auto backup = number(*workers, 1, most_backup);
    return backup ? std::optional(SyncMode{.backup = *backup}) : std::nullopt;
  }
  if (const auto rounds = after("ssp:", text)) {
    const auto slack = number(*rounds, 0, most_slack);
    if (!slack) return std::nullopt;
    return SyncMode{.slack = *slack, .on_arrival = *slack > 0};
  }
  if (text == "asp") return asp();
  if (text.starts_with("dc-asgd")) return compensated_mode(text.substr(7));
  if (const auto mode = gathering_mode(text)) return mode;
  if (text == "orchestra")
    return SyncMode{.local = 1, .balanced = true, .paced = true, .equal_weights = true};
  if (const auto steps = after(balanced_name, text)) {
    const auto local = number(*steps, 1, most_local_steps);
    return local ? std::optional(SyncMode{.local = *local, .balanced = true}) : std::nullopt;
  }
  if (const auto rest = after(hubs_name, text)) return hubs_mode(*rest);
  return local_mode(text);
}

std::string compensation_text(const SyncMode& mode) {
  const bool adaptive = mode.compensation == SyncMode::Compensation::adaptive;
  const std::string name = adaptive ? "dc-asgd:adaptive" : "dc-asgd";
  return mode.lambda == (adaptive ? adaptive_lambda : constant_lambda)
             ? name
             : name + ":" + number_text(mode.lambda);
}

std::string hubs_text(const SyncMode& mode) {
  const std::string text = std::string(hubs_name) + std::to_string(mode.local) + ":" +
                           std::to_string(mode.hubs.mix_every) + ":" + std::to_string(mode.hubs.count);
  if (mode.hubs.graph == Hubs::Graph::complete) return text;
  return text + ":" + std::string(graph_names[static_cast<std::size_t>(mode.hubs.graph)]);
}

}  // namespace

SyncMode parse_sync(std::string_view text) {
  if (const auto mode = parsed(text)) return *mode;
  throw Failure(ExitCode::configuration,
                "sync mode '" + std::string(text) + "' does not exist; choose one of " + sync_choices());
}

std::string sync_text(const SyncMode& mode) {
  const std::string weights = mode.equal_weights ? ":equal" : "";
  if (mode.span == SyncMode::Span::epoch) return "oneshot:epoch" + weights;
  if (mode.span == SyncMode::Span::job) return "oneshot:end" + weights;
  if (mode.has_hubs()) return hubs_text(mode);
  if (mode.paced) return "orchestra";
  if (mode.balanced) return std::string(balanced_name) + std::to_string(mode.local);
  if (mode.is_local()) return "local:" + std::to_string(mode.local) + weights;
  if (mode.compensation != SyncMode::Compensation::none) return compensation_text(mode);
  if (mode.damped) return "nsoft:" + std::to_string(mode.need.of);
  if (mode.gathers()) return mode.need.of > 0 ? "eager" : "ksoft:" + std::to_string(mode.need.parts);
  if (mode.on_demand) return "asp";
  if (mode.hand_over) return "flexrr";
  if (mode.backup > 0) return "backup:" + std::to_string(mode.backup);
  return mode.slack == 0 ? "bsp" : "ssp:" + std::to_string(mode.slack);
}

bool is_sync(std::string_view text) { return parsed(text).has_value(); }

std::string sync_trouble(const SyncMode& mode, std::uint64_t workers) {
  if (workers > 0 && mode.hubs.count > workers) {
    return "sync = \"" + sync_text(mode) + "\": " + std::to_string(workers) +
           " workers do not give every hub one: give " + std::to_string(workers) + " hubs at most";
  }
  if (workers > 0 && mode.backup >= workers) {
    return "sync = \"" + sync_text(mode) + "\": of " + std::to_string(workers) +
           (workers == 1 ? " worker nobody is left to wait for: give bsp"
                         : " workers nobody is left to wait for: give backup:" + std::to_string(workers - 1) +
                               " at most");
  }
  if (workers == 0 || mode.need.of > 0 || mode.need.parts <= workers) return {};
  return "sync = \"" + sync_text(mode) + "\": of " + std::to_string(workers) + " workers there are never " +
         std::to_string(mode.need.parts) + " shares: give ksoft:" + std::to_string(workers) + " at most";
}

const std::vector<SyncForm>& sync_forms() {
  static const std::vector<SyncForm> forms{
      {"bsp", "", "every round waits for all of its shares: ordinary synchronous SGD"},
      {"flexrr", "",
       "bsp, and within a round who is ahead takes over the rest of what others are behind with"},
      {"backup:B", "workers that are not waited for, fewer than there are",
       "bsp, and a round ends when all but B workers are done; what the others had is of the next round"},
      {"ssp:S", "S rounds ahead, up to " + std::to_string(most_slack),
       "gradients are applied as they come; who is S rounds ahead of the slowest waits"},
      {"asp", "", "gradients are applied as they come, each as an update of its own, and nobody waits"},
      {"dc-asgd:L",
       "lambda; left out, " + number_text(constant_lambda) + "; or adaptive:L; left out, " +
           number_text(adaptive_lambda),
       "as asp, and gradients are corrected for how far parameters moved since they were pulled"},
      {"nsoft:N", "steps to a global batch, up to " + std::to_string(most_parts),
       "as asp, and gradients are averaged until 1/N of a global batch is in; late ones count less"},
      {"ksoft:K", "shares, up to the number of workers",
       "as asp, and gradients are averaged until K workers' shares of a global batch are in"},
      {"eager", "", "as asp, and gradients are averaged until half of a global batch is in"},
      {"local:H", "H local steps",
       "each worker takes H steps of its own between two exchanges, which average the results"},
      {"oneshot:epoch", "", "the same with one exchange an epoch"},
      {"oneshot:end", "", "the same with one exchange, at the end of the job"},
      {"diloco:H", "H local steps on average",
       "local steps in proportion to speed: who is twice as fast takes twice as many between two exchanges"},
      {"mll:TAU:Q:HUBS",
       "TAU local steps on average, up to " + std::to_string(most_drawn_steps) +
           "; every Q rounds hubs mix, HUBS of them, up to " + std::to_string(most_hubs) +
           "; with :ring or :line behind, not with all others",
       "workers take as many steps as are drawn by their speeds, and average with those of their hub; hubs "
       "average with their neighbours every Q rounds"},
      {"orchestra", "",
       "as many local steps as each worker ends before a common barrier, which policy orchestra moves"}};
  return forms;
}

const std::string& sync_choices() {
  static const std::string text = [] {
    std::string list;
    for (const SyncForm& form : sync_forms()) {
      list += (list.empty() ? "" : ", ") + form.text +
              (form.parameter.empty() ? "" : " (" + form.parameter + ")");
    }
    return list + "; local and oneshot also with :equal behind";
  }();
  return text;
}

}  // namespace steelyard
