// What of a scenario is a real training: train = true in [job], and the keys that a job file has for it.
#pragma once

#include "app/config/scenario_keys.h"
#include "app/config/toml_section.h"

namespace steelyard {

// Opens the data and makes the model of a draft whose [job], [model] and [data] have been read. Without
// train = true, any key of a training is refused. Length and batch of the job are known already.
void make_training(ScenarioDraft& draft, const TomlSection& job, const TomlSection& model,
                   const TomlSection& data);

}  // namespace steelyard
