// Sync-Switch (Li, Mangoubi, Xu, Guo: "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep
// Learning", ICDCS 2021): bsp for the first part of the training, then asp.
//
// After the switch a push is its part of a global batch's update, so the rate is in proportion to the batch.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

namespace {

constexpr std::string_view sync_switch_prefix = "sync-switch:";

}  // namespace

ModeEntry sync_switch_mode_rows() {
  return {
      .rank = 24,
      .forms = {{"sync-switch:P", "percent of the training, above 0 and below 100",
                 "bsp for the first P percent of the training; then gradients are applied on arrival, and "
                 "no worker waits"}},
      .parse = [](std::string_view text) -> std::optional<SyncMode> {
        const auto percent = number_in<double>(after(sync_switch_prefix, text).value_or(""));
        if (!percent || !(*percent > 0 && *percent < 100)) return std::nullopt;
        SyncMode mode = asynchronous();
        mode.divide_by_push = false, mode.barrier_percent = *percent;
        return mode;
      },
      .write =
          [](const SyncMode& mode) {
            return std::string(sync_switch_prefix) + number_text(mode.barrier_percent);
          },
      .tried = {"sync-switch:25", "sync-switch:60"}};
}

}  // namespace steelyard
