// The training of a scenario with train = true in [job]: reads the keys that it shares with a job file.
#pragma once

#include "app/config/scenario_keys.h"
#include "app/config/toml_section.h"

namespace steelyard {

// Opens the data and makes the model of a draft, after [job], [model] and [data] have been read, length and
// batch included. Without train = true, throws Failure (configuration) for any key of a training.
void make_training(ScenarioDraft& draft, const TomlSection& job, const TomlSection& model,
                   const TomlSection& data);

}  // namespace steelyard
