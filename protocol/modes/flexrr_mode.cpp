// FlexRR (Harlap et al., SoCC 2016): bsp in which faster workers help slower ones. balancing/rescue/flexrr.h
// chooses the helpers.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry flexrr_mode_rows() {
  return {.rank = 11,
          .forms =
              {{"flexrr", "",
                "bsp, and within a round workers that are ahead take over the rest of what others are behind "
                "with"}},
          .parse =
              [](std::string_view text) {
                return text == "flexrr" ? std::optional(SyncMode{.steals_work = true}) : std::nullopt;
              },
          .write = [](const SyncMode&) { return std::string("flexrr"); },
          .tried = {"flexrr"}};
}

}  // namespace steelyard
