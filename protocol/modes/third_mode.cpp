// As eager, with a step for each third of a global batch.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry third_mode_rows() {
  return {
      .rank = 33,
      .forms = {{"third", "", "as asp, and gradients are averaged until a third of a global batch is in"}},
      .parse = [](std::string_view text) -> std::optional<SyncMode> {
        if (text != "third") return std::nullopt;
        SyncMode mode = asynchronous();
        mode.need = {1, 3};
        return mode;
      },
      .write = [](const SyncMode&) { return std::string("third"); },
      .tried = {"third"}};
}

}  // namespace steelyard
