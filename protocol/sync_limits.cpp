#include "protocol/sync_limits.h"

namespace steelyard {

std::string optimizer_trouble(const std::string& name, const nn::Optimizer& optimizer, const SyncMode& mode) {
  if (nn::steps_on_workers(optimizer)) {
    if (mode.has_versions() && !mode.is_local() && !mode.has_hubs()) return {};
    return "optimizer = \"" + name + "\" cannot be combined with sync = \"" + sync_text(mode) +
           "\": every worker takes each step on its own copy of the model, so all need the same versions: "
           "choose sync = \"bsp\"";
  }
  const bool whole = !mode.is_local() && (mode.has_versions() || mode.divide_by_push);
  if (nn::is_linear(optimizer) || (whole && !(mode.on_arrival && nn::needs_norms(optimizer)))) return {};
  const std::string begin =
      "optimizer = \"" + name + "\" cannot be combined with sync = \"" + sync_text(mode) + "\": ";
  if (mode.is_local()) {
    return begin + "local steps begin each round without moments: choose sgd, momentum or nesterov, or " +
           "sync = \"bsp\"";
  }
  if (nn::needs_norms(optimizer)) {
    return begin + "it updates whole tensors, but here each slice is updated when pushes arrive: choose " +
           "sync = \"bsp\"";
  }
  return begin +
         "there a push is a part of an update, which this optimizer cannot apply: choose sync = \"bsp\" or " +
         "\"asp\"";
}

std::string code_trouble(const std::string& key, FloatCode code, const SyncMode& mode) {
  if (code == FloatCode::float32) return {};
  const std::string begin = key + " = \"" + float_code_names()[static_cast<std::size_t>(code)] +
                            "\" cannot be combined with sync = \"" + sync_text(mode) + "\": ";
  if (mode.has_hubs() && key.starts_with("pull")) {
    return begin +
           "workers of different hubs have different parameters, so there is no common version to send a " +
           "difference to: leave it out, or choose diloco";
  }
  if (mode.has_versions()) return {};
  return begin +
         "pushes are applied on arrival, so there are no versions that all workers have: leave it "
         "out, or choose bsp, local, oneshot or diloco";
}

std::string outer_trouble(const Job& job, const SyncMode& mode) {
  if (mode.has_hubs() && job.outer_momentum > 0) {
    return "outer_momentum cannot be combined with sync = \"" + sync_text(mode) +
           "\": hubs also change by mixing, which momentum does not cover: leave it out, or choose diloco";
  }
  if (mode.is_local() || (job.outer_rate == 1 && job.outer_momentum == 0)) return {};
  return "outer_rate and outer_momentum apply to the result of local steps, and sync = \"" + sync_text(mode) +
         "\" has none: leave them out, or choose local, oneshot or diloco";
}

std::string order_trouble(SumOrder order, const SyncMode& mode) {
  if (mode.has_versions() || order != SumOrder::positions) return {};
  return "sum_order = \"ordered\" cannot be combined with sync = \"" + sync_text(mode) +
         "\": pushes are applied on arrival, so there is no order to keep: leave it out, or choose bsp, "
         "local or oneshot";
}

std::string length_trouble(const SyncMode& mode, std::uint64_t epochs, std::uint64_t rounds) {
  const std::string begin = "sync = \"" + sync_text(mode) + "\": ";
  if (mode.span == SyncMode::Span::job && epochs == 0)
    return begin + "the only round spans the whole job, so the job needs a length: give [train] epochs";
  if (mode.barrier_percent > 0 && epochs == 0 && rounds == 0)
    return begin +
           "the switch comes after a part of the training, whose length must be known: give [train] "
           "epochs or rounds beside seconds";
  if (!mode.chooses_length() || rounds == 0) return {};
  return begin + (mode.paced ? "the policy" : "the scheduler") +
         " decides the length of each round, so a number of rounds does not limit the job: give "
         "[train] epochs or seconds in place of rounds";
}

}  // namespace steelyard
