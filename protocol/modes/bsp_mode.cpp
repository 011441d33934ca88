// Bulk synchronous parallel (Valiant 1990): a round ends when all of its positions are in.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry bsp_mode_rows() {
  return {
      .rank = 10,
      .forms = {{"bsp", "", "every round waits for all shares: ordinary synchronous SGD"}},
      .parse = [](std::string_view text) { return text == "bsp" ? std::optional(SyncMode()) : std::nullopt; },
      .write = [](const SyncMode&) { return std::string("bsp"); },
      .tried = {"bsp"}};
}

}  // namespace steelyard
