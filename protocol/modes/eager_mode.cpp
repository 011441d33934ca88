// Eager SGD with a majority (Li et al., PPoPP 2020): a step for each half of a global batch.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry eager_mode_rows() {
  return {.rank = 32,
          .forms = {{"eager", "", "as asp, but gradients are averaged over half a global batch"}},
          .parse = [](std::string_view text) -> std::optional<SyncMode> {
            if (text != "eager") return std::nullopt;
            SyncMode mode = asynchronous();
            mode.quorum = {1, 2};
            return mode;
          },
          .write = [](const SyncMode&) { return std::string("eager"); },
          .tried = {"eager"}};
}

}  // namespace steelyard
