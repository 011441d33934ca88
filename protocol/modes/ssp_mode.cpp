// Stale synchronous parallel (Ho et al., NIPS 2013): the fastest worker may be S rounds ahead of the slowest.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry ssp_mode_rows() {
  constexpr std::uint64_t max_slack = 1000;  // rounds
  return {.rank = 20,
          .forms = {{"ssp:S", "S rounds ahead, up to " + std::to_string(max_slack),
                     "gradients are applied on arrival; a worker S rounds ahead of the slowest waits"}},
          .parse = [](std::string_view text) -> std::optional<SyncMode> {
            const auto slack = number_from(after("ssp:", text).value_or(""), 0, max_slack);
            if (!slack) return std::nullopt;
            return SyncMode{.slack = *slack, .on_arrival = *slack > 0};
          },
          .write = [](const SyncMode& mode) { return "ssp:" + std::to_string(mode.slack); },
          .tried = {"ssp:0", "ssp:1", "ssp:3"}};
}

}  // namespace steelyard
