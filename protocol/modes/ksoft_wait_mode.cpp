// k-of-n gradients for which workers wait (K-async, Dutta et al., AISTATS 2018): each worker waits for the
// step that applies its gradient. With `:first`, the baseline that LBB's authors published as k-soft
// (docs/decisions/56-k-soft-in-lbb.md).
#include "protocol/modes/mode_entry.h"

namespace steelyard {
namespace {

constexpr std::string_view waiting_name = "ksoft-wait:", only_oldest = ":first";
constexpr std::uint64_t max_ready = 10'000;

std::optional<SyncMode> parse_waiting(std::string_view text) {
  auto number = after(waiting_name, text).value_or("");
  const bool only_first = number.ends_with(only_oldest);
  if (only_first) number.remove_suffix(only_oldest.size());
  const auto ready = number_from(number, 1, max_ready);
  if (!ready) return std::nullopt;
  SyncMode mode = asynchronous();
  mode.wait = {*ready, only_first ? 1 : *ready};
  return mode;
}

std::string write_waiting(const SyncMode& mode) {
  const bool only_first = mode.wait.applied < mode.wait.ready;
  return std::string(waiting_name) + std::to_string(mode.wait.ready) +
         std::string(only_first ? only_oldest : "");
}

}  // namespace

ModeEntry ksoft_wait_mode_rows() {
  return {
      .rank = 33,
      .forms = {{"ksoft-wait:K", "gradients, up to the number of workers; or K:first",
                 "as asp, but a step averages the gradients of the first K workers that are ready, and these "
                 "workers wait for it; with :first it applies only the oldest of K gradients that wait"}},
      .parse = parse_waiting,
      .write = write_waiting,
      .tried = {"ksoft-wait:2", "ksoft-wait:3", "ksoft-wait:2:first"},
      .refuse = [](const SyncMode& mode, std::uint64_t workers) -> std::string {
        if (mode.wait.ready <= workers) return {};
        return std::to_string(workers) + " workers never have " + std::to_string(mode.wait.ready) +
               " gradients that wait: give ksoft-wait:" + std::to_string(workers) + " at most";
      }};
}

}  // namespace steelyard
