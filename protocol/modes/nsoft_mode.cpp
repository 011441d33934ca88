// n-softsync (Zhang, Gupta et al., IJCAI 2016): a step for each 1/n of a global batch; a push that is tau
// steps late is divided by tau.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry nsoft_mode_rows() {
  constexpr std::uint64_t max_parts = 10'000;  // of a global batch, each a step
  return {
      .rank = 30,
      .forms =
          {{"nsoft:N", "steps to a global batch, up to " + std::to_string(max_parts),
            "as asp, but gradients are averaged over 1/N of a global batch, and late ones have less weight"}},
      .parse = [](std::string_view text) -> std::optional<SyncMode> {
        const auto parts = number_from(after("nsoft:", text).value_or(""), 1, max_parts);
        if (!parts) return std::nullopt;
        SyncMode mode = asynchronous();
        mode.quorum = {1, *parts}, mode.damped = true;
        return mode;
      },
      .write = [](const SyncMode& mode) { return "nsoft:" + std::to_string(mode.quorum.of); },
      .tried = {"nsoft:1", "nsoft:2"}};
}

}  // namespace steelyard
