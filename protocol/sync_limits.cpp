#include "protocol/sync_limits.h"

namespace steelyard {

std::string optimizer_trouble(const std::string& name, const nn::Optimizer& optimizer, const SyncMode& mode) {
  const bool whole = !mode.is_local() && (mode.has_versions() || mode.divide_by_push);
  if (nn::is_linear(optimizer) || (whole && !(mode.on_arrival && nn::needs_norms(optimizer)))) return {};
  const std::string begin =
      "optimizer = \"" + name + "\" does not go with sync = \"" + sync_text(mode) + "\": ";
  if (mode.is_local()) {
    return begin + "local steps begin each round without moments: choose sgd, momentum or nesterov, or " +
           "sync = \"bsp\"";
  }
  if (nn::needs_norms(optimizer)) {
    return begin + "it steps a whole tensor at once, and here each slice steps as pushes arrive: choose " +
           "sync = \"bsp\"";
  }
  return begin + "there a push is a part of a step, and its steps have no parts: choose sync = \"bsp\" or " +
         "\"asp\"";
}

std::string code_trouble(const std::string& key, FloatCode code, const SyncMode& mode) {
  if (code == FloatCode::float32) return {};
  const std::string begin = key + " = \"" + float_code_names()[static_cast<std::size_t>(code)] +
                            "\" does not go with sync = \"" + sync_text(mode) + "\": ";
  if (mode.has_hubs() && key.starts_with("pull")) {
    return begin +
           "workers of different hubs are told of different parameters, so there is no version that a " +
           "difference could be to: leave it out, or choose diloco";
  }
  if (mode.has_versions()) return {};
  return begin +
         "there each push is a step by itself, and parameters have no versions that all workers are "
         "told " +
         "of alike: leave it out, or choose bsp, local, oneshot or diloco";
}

std::string outer_trouble(const Job& job, const SyncMode& mode) {
  if (mode.has_hubs() && job.outer_momentum > 0) {
    return "outer_momentum does not go with sync = \"" + sync_text(mode) +
           "\": hubs move by mixing too, which is no step with a momentum: leave it out, or choose diloco";
  }
  if (mode.is_local() || (job.outer_rate == 1 && job.outer_momentum == 0)) return {};
  return "outer_rate and outer_momentum act on what local steps come to, and sync = \"" + sync_text(mode) +
         "\" has none: leave them out, or choose local, oneshot or diloco";
}

std::string order_trouble(SumOrder order, const SyncMode& mode) {
  if (mode.has_versions() || order != SumOrder::positions) return {};
  return "sum_order = \"ordered\" does not go with sync = \"" + sync_text(mode) +
         "\": pushes are applied as they come and there is no order to keep: leave it out, or choose bsp, "
         "local or "
         "oneshot";
}

std::string length_trouble(const SyncMode& mode, std::uint64_t epochs, std::uint64_t rounds) {
  const std::string begin = "sync = \"" + sync_text(mode) + "\": ";
  if (mode.span == SyncMode::Span::job && epochs == 0)
    return begin + "one round for the whole job needs its length: give [train] epochs";
  if (!mode.paced || rounds == 0) return {};
  return begin +
         "how long rounds are is decided as it goes, and so many rounds may be any number of samples: give "
         "[train] "
         "epochs or seconds in place of rounds";
}

}  // namespace steelyard
