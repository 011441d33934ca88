// FlexRR (Harlap et al., SoCC 2016): bsp in which faster workers help slower ones. balancing/rescue/flexrr.h
// chooses the helpers.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry flexrr_mode_rows() {
  return {
      .rank = 11,
      .forms = {{"flexrr", "",
                 "as bsp, but within a round faster workers take over the tails of slower workers' pieces"}},
      .parse =
          [](std::string_view text) {
            return text == "flexrr" ? std::optional(SyncMode{.steals_work = true}) : std::nullopt;
          },
      .write = [](const SyncMode&) { return std::string("flexrr"); },
      .tried = {"flexrr"}};
}

}  // namespace steelyard
