// Local SGD (Stich, ICLR 2019): H local steps between two exchanges, which average the parameters. Each piece
// is weighted by its positions, or with ":equal" by 1, as published.
#include "protocol/modes/mode_entry.h"

namespace steelyard {
namespace {

std::optional<SyncMode> parse_local(std::string_view text) {
  const bool equal = text.ends_with(equal_weights_suffix);
  if (equal) text.remove_suffix(equal_weights_suffix.size());
  const auto steps = number_from(after("local:", text).value_or(""), 1, max_local_steps);
  if (!steps) return std::nullopt;
  return SyncMode{.local = *steps, .equal_weights = equal};
}

}  // namespace

ModeEntry local_mode_rows() {
  return {
      .rank = 40,
      .forms = {{"local:H",
                 "H local steps; with the suffix :equal, results are weighted equally, not by their samples",
                 "each worker takes H local steps between two exchanges, which average the parameters"}},
      .parse = parse_local,
      .write =
          [](const SyncMode& mode) {
            return "local:" + std::to_string(mode.local) +
                   std::string(mode.equal_weights ? equal_weights_suffix : "");
          },
      .tried = {"local:1", "local:3", "local:1:equal", "local:3:equal"}};
}

}  // namespace steelyard
