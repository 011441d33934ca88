// DiLoCo (Douillard et al., 2023) with steps in proportion to speed: the workers' differences are the
// gradient for the servers' update rule (outer_rate, outer_momentum).
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry diloco_mode_rows() {
  return {.rank = 42,
          .forms = {{"diloco:H", "H local steps on average",
                     "local steps in proportion to speed: a worker twice as fast takes twice as many between "
                     "two exchanges"}},
          .parse = [](std::string_view text) -> std::optional<SyncMode> {
            const auto steps = number_from(after("diloco:", text).value_or(""), 1, max_local_steps);
            if (!steps) return std::nullopt;
            return SyncMode{.local = *steps, .balanced = true};
          },
          .write = [](const SyncMode& mode) { return "diloco:" + std::to_string(mode.local); },
          .tried = {"diloco:1", "diloco:4"}};
}

}  // namespace steelyard
