// DynSGD (Jiang, Cui, Zhang, Yu: "Heterogeneity-aware Distributed Parameter Servers", SIGMOD 2017): asp, with
// the learning rate of each push divided by its staleness + 1 (server/shard/close_rule.h).
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry dynsgd_mode_rows() {
  return {.rank = 23,
          .forms = {{"dynsgd", "",
                     "as asp, but the step of a gradient that is tau updates late has the learning rate "
                     "divided by tau + 1"}},
          .parse = [](std::string_view text) -> std::optional<SyncMode> {
            if (text != "dynsgd") return std::nullopt;
            SyncMode mode = asynchronous();
            mode.slows_late = true;
            return mode;
          },
          .write = [](const SyncMode&) { return std::string("dynsgd"); },
          .tried = {"dynsgd"}};
}

}  // namespace steelyard
