// Multi-level local SGD (Castiglia, Das, Patterson, ICLR 2021): workers average within hubs, and hubs with
// their neighbours in a graph every Q rounds. See Hubs in protocol/sync_mode.h.
#include <algorithm>
#include <iterator>
#include <ranges>

#include "protocol/modes/mode_entry.h"

namespace steelyard {
namespace {

constexpr std::string_view mll_prefix = "mll:",
                           graph_names[] = {"complete", "ring", "line"};  // as Hubs::Graph
constexpr std::uint64_t max_rounds_unmixed = 1 << 20, max_drawn_steps = 1024;

std::optional<SyncMode> parse_hubs(std::string_view text) {
  const auto rest = after(mll_prefix, text);
  if (!rest) return std::nullopt;
  std::vector<std::string_view> words;
  for (const auto word : std::views::split(*rest, ':')) words.emplace_back(word.begin(), word.end());
  if (words.size() != 3 && words.size() != 4) return std::nullopt;
  const auto local = number_from(words[0], 1, max_drawn_steps),
             every = number_from(words[1], 1, max_rounds_unmixed), hubs = number_from(words[2], 1, most_hubs);
  if (!local || !every || !hubs) return std::nullopt;
  Hubs graph{static_cast<HubNumber>(*hubs), *every};
  if (words.size() == 4) {
    const auto found = std::ranges::find(graph_names, words[3]);
    if (found == std::end(graph_names)) return std::nullopt;
    graph.graph = static_cast<Hubs::Graph>(found - std::begin(graph_names));
  }
  return SyncMode{.local = *local, .balanced = true, .hubs = graph};
}

std::string write_hubs(const SyncMode& mode) {
  const std::string text = std::string(mll_prefix) + std::to_string(mode.local) + ":" +
                           std::to_string(mode.hubs.mix_every) + ":" + std::to_string(mode.hubs.count);
  if (mode.hubs.graph == Hubs::Graph::complete) return text;
  return text + ":" + std::string(graph_names[static_cast<std::size_t>(mode.hubs.graph)]);
}

}  // namespace

ModeEntry mll_mode_rows() {
  return {.rank = 43,
          .forms = {{"mll:TAU:Q:HUBS",
                     "TAU local steps on average, up to " + std::to_string(max_drawn_steps) +
                         "; every Q rounds hubs mix, HUBS of them, up to " + std::to_string(most_hubs) +
                         "; with the suffix :ring or :line, only with neighbours in that graph",
                     "workers take a random number of steps, by their speeds, and average within their hub; "
                     "hubs average with their neighbours every Q rounds"}},
          .parse = parse_hubs,
          .write = write_hubs,
          .tried = {"mll:1:1:1", "mll:2:2:2", "mll:2:3:3:line"},
          .refuse = [](const SyncMode& mode, std::uint64_t workers) -> std::string {
            if (mode.hubs.count <= workers) return {};
            return std::to_string(workers) + " workers are too few for one a hub: give " +
                   std::to_string(workers) + " hubs at most";
          }};
}

}  // namespace steelyard
