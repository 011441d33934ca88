// Elastic BSP (Zhao, Papagelis, An, Chen, Liu, Hu: "Elastic bulk synchronous parallel model for distributed
// deep learning", ICDM 2019): a barrier after 1 to R pieces of each worker, where predicted waiting is least.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry elastic_bsp_mode_rows() {
  constexpr std::uint64_t max_lookahead = 1000;  // pieces; a worker holds far more (protocol/limits.h)
  return {.rank = 25,
          .forms = {{"elastic-bsp:R",
                     "most pieces of a worker in a round, up to " + std::to_string(max_lookahead),
                     "each worker computes 1 to R pieces before a common barrier, which is where workers are "
                     "predicted to wait least; gradients are applied on arrival"}},
          .parse = [](std::string_view text) -> std::optional<SyncMode> {
            const auto most = number_from(after("elastic-bsp:", text).value_or(""), 1, max_lookahead);
            if (!most) return std::nullopt;
            return SyncMode{.on_arrival = true, .lookahead = *most};
          },
          .write = [](const SyncMode& mode) { return "elastic-bsp:" + std::to_string(mode.lookahead); },
          .tried = {"elastic-bsp:1", "elastic-bsp:4"}};
}

}  // namespace steelyard
