// Orchestra (Du, Huang, Xiang, 2022): local steps until a common barrier, which the policy orchestra moves
// (balancing/policy/orchestra.h).
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry orchestra_mode_rows() {
  return {.rank = 44,
          .forms = {{"orchestra", "needs policy = \"orchestra\"",
                     "each worker takes the local steps it can finish before a common barrier, which policy "
                     "orchestra moves"}},
          .parse = [](std::string_view text) -> std::optional<SyncMode> {
            if (text != "orchestra") return std::nullopt;
            return SyncMode{.local = 1, .balanced = true, .paced = true, .equal_weights = true};
          },
          .write = [](const SyncMode&) { return std::string("orchestra"); },
          .tried = {"orchestra"}};
}

}  // namespace steelyard
