// Asynchronous parallel (Dean et al., NIPS 2012): each push is a separate update.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry asp_mode_rows() {
  return {
      .rank = 21,
      .forms = {{"asp", "",
                 "each gradient is applied on arrival as an update of its own, and no worker waits"}},
      .parse =
          [](std::string_view text) { return text == "asp" ? std::optional(asynchronous()) : std::nullopt; },
      .write = [](const SyncMode&) { return std::string("asp"); },
      .tried = {"asp"}};
}

}  // namespace steelyard
