// What the numbers of a sync mode rule out, by whatever name it goes: why some settings of a job do not go
// with it, and what does. Each function returns nothing if they do. How many workers a mode needs is
// sync_trouble() in protocol/sync_mode.h.
#pragma once

#include <cstdint>
#include <string>

#include "nn/optimizer/rule.h"
#include "protocol/float_code.h"
#include "protocol/job.h"

namespace steelyard {

// `name`: the optimizer's, as people write it.
std::string optimizer_trouble(const std::string& name, const nn::Optimizer& optimizer, const SyncMode& mode);
// `key`: "push_encoding" or "pull_encoding" of a job, "push" or "pull" of a scenario.
std::string code_trouble(const std::string& key, FloatCode code, const SyncMode& mode);
// Of outer_rate and outer_momentum.
std::string outer_trouble(const Job& job, const SyncMode& mode);
std::string order_trouble(SumOrder order, const SyncMode& mode);
// Of a job that ends after so many epochs or rounds; 0: not after any number of them.
std::string length_trouble(const SyncMode& mode, std::uint64_t epochs, std::uint64_t rounds);

}  // namespace steelyard
