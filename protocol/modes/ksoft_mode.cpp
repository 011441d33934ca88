// k-of-n gradients for which no worker waits (K-batch-async, Dutta et al., AISTATS 2018): a step for each K
// workers' shares of a global batch.
#include "protocol/modes/mode_entry.h"

namespace steelyard {

ModeEntry ksoft_mode_rows() {
  constexpr std::uint64_t max_shares = 10'000;
  return {.rank = 31,
          .forms = {{"ksoft:K", "shares, up to the number of workers",
                     "as asp, but gradients are averaged over K workers' shares of a global batch"}},
          .parse = [](std::string_view text) -> std::optional<SyncMode> {
            const auto shares = number_from(after("ksoft:", text).value_or(""), 1, max_shares);
            if (!shares) return std::nullopt;
            SyncMode mode = asynchronous();
            mode.quorum = {*shares, 0};
            return mode;
          },
          .write = [](const SyncMode& mode) { return "ksoft:" + std::to_string(mode.quorum.parts); },
          .tried = {"ksoft:2", "ksoft:3"},
          .refuse = [](const SyncMode& mode, std::uint64_t workers) -> std::string {
            if (mode.quorum.parts <= workers) return {};
            return std::to_string(workers) + " workers have fewer than " + std::to_string(mode.quorum.parts) +
                   " shares: give ksoft:" + std::to_string(workers) + " at most";
          }};
}

}  // namespace steelyard
