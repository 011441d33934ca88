// Settings of a job that are impossible with a sync mode. Each function returns the reason and the remedy, or
// an empty string if the setting is possible. For the number of workers that a mode needs, see sync_trouble()
// in protocol/sync_mode.h.
#pragma once

#include <cstdint>
#include <string>

#include "nn/optimizer/rule.h"
#include "protocol/float_code.h"
#include "protocol/job.h"

namespace steelyard {

// `name`: the optimizer's, as users write it.
std::string optimizer_trouble(const std::string& name, const nn::Optimizer& optimizer, const SyncMode& mode);
// `key`: "push_encoding" or "pull_encoding" of a job, "push" or "pull" of a scenario.
std::string code_trouble(const std::string& key, FloatCode code, const SyncMode& mode);
// For outer_rate and outer_momentum.
std::string outer_trouble(const Job& job, const SyncMode& mode);
std::string order_trouble(SumOrder order, const SyncMode& mode);
// For a job that ends after this number of epochs or rounds; 0: no such limit.
std::string length_trouble(const SyncMode& mode, std::uint64_t epochs, std::uint64_t rounds);

}  // namespace steelyard
