// One-shot averaging (Zinkevich et al., NIPS 2010): local SGD with one exchange per epoch, or per job.
#include "protocol/modes/mode_entry.h"

namespace steelyard {
namespace {

using Span = SyncMode::Span;

std::optional<SyncMode> parse_oneshot(std::string_view text) {
  const bool equal = text.ends_with(equal_weights_suffix);
  if (equal) text.remove_suffix(equal_weights_suffix.size());
  if (text != "oneshot:epoch" && text != "oneshot:end") return std::nullopt;
  return SyncMode{
      .local = 1, .span = text == "oneshot:epoch" ? Span::epoch : Span::job, .equal_weights = equal};
}

}  // namespace

ModeEntry oneshot_mode_rows() {
  return {
      .rank = 41,
      .forms = {{"oneshot:epoch", "", "local steps with one exchange an epoch; suffix :equal as for local"},
                {"oneshot:end", "", "local steps with one exchange, at the end of the job"}},
      .parse = parse_oneshot,
      .write =
          [](const SyncMode& mode) {
            return std::string(mode.span == Span::epoch ? "oneshot:epoch" : "oneshot:end") +
                   std::string(mode.equal_weights ? equal_weights_suffix : "");
          },
      .tried = {"oneshot:epoch", "oneshot:end", "oneshot:epoch:equal", "oneshot:end:equal"}};
}

}  // namespace steelyard
