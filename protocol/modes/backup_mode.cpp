// Backup workers (Chen et al., "Revisiting Distributed Synchronous SGD", 2016): a round does not wait for its
// last B workers. Their positions go to the next round.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry backup_mode_rows() {
  constexpr std::uint64_t max_backup = 65'535;  // workers
  return {
      .rank = 12,
      .forms =
          {{"backup:B", "number of workers that rounds do not wait for, less than all",
            "as bsp, but a round ends when all but B workers have reported; the positions of the others go "
            "to the next round"}},
      .parse = [](std::string_view text) -> std::optional<SyncMode> {
        const auto workers = number_from(after("backup:", text).value_or(""), 1, max_backup);
        if (!workers) return std::nullopt;
        return SyncMode{.backup = *workers};
      },
      .write = [](const SyncMode& mode) { return "backup:" + std::to_string(mode.backup); },
      .tried = {"backup:1", "backup:2"},
      .refuse = [](const SyncMode& mode, std::uint64_t workers) -> std::string {
        if (mode.backup < workers) return {};
        return "with " + std::to_string(workers) +
               (workers == 1 ? " worker, rounds would wait for none: give bsp"
                             : " workers, rounds would wait for none: give backup:" +
                                   std::to_string(workers - 1) + " at most");
      }};
}

}  // namespace steelyard
