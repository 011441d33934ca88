// Delay-compensated asynchronous SGD (Zheng et al., ICML 2017): asp, with each push corrected by lambda times
// a first-order estimate of the parameters' movement since they were pulled (server/shard/close_rule.h).
#include <cmath>

#include "protocol/modes/mode_entry.h"

namespace steelyard {
namespace {

using Compensation = SyncMode::Compensation;
constexpr double constant_lambda = 0.04, adaptive_lambda = 2;  // the paper's values, used as defaults

std::optional<SyncMode> parse_compensated(std::string_view text) {
  auto rest = after("dc-asgd", text);
  if (!rest) return std::nullopt;
  SyncMode mode = asynchronous();
  mode.compensation = Compensation::constant, mode.lambda = constant_lambda;
  if (const auto adaptive = after(":adaptive", *rest)) {
    mode.compensation = Compensation::adaptive, mode.lambda = adaptive_lambda;
    rest = adaptive;
  }
  if (rest->empty()) return mode;
  const auto given = after(":", *rest);
  const auto lambda = given ? number_in<double>(*given) : std::nullopt;
  if (!lambda || std::signbit(*lambda)) return std::nullopt;
  mode.lambda = *lambda;
  return mode;
}

std::string write_compensated(const SyncMode& mode) {
  const bool adaptive = mode.compensation == Compensation::adaptive;
  const std::string name = adaptive ? "dc-asgd:adaptive" : "dc-asgd";
  return mode.lambda == (adaptive ? adaptive_lambda : constant_lambda)
             ? name
             : name + ":" + number_text(mode.lambda);
}

}  // namespace

ModeEntry dc_asgd_mode_rows() {
  return {.rank = 22,
          .forms =
              {{"dc-asgd:L",
                "lambda, by default " + number_text(constant_lambda) + "; or adaptive:L, by default " +
                    number_text(adaptive_lambda),
                "as asp, but gradients are corrected for the movement of parameters since they were pulled"}},
          .parse = parse_compensated,
          .write = write_compensated,
          .tried = {"dc-asgd:0", "dc-asgd:adaptive:0"}};
}

}  // namespace steelyard
