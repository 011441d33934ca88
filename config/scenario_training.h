// What of a scenario is a real training: train = true in [job], and the keys that a job file has for it.
#pragma once

#include "config/extensions.h"
#include "config/toml_section.h"
#include "sim/scenario.h"

namespace steelyard {

// Reads the keys of a training from [job], and the options of [model] and [data]; opens the data and makes
// the model. Without train = true, any of them is refused. Length and batch of the job are known already.
void read_training(TomlSection& job, const TomlSection& model, const TomlSection& data,
                   const Extensions& extensions, sim::Scenario& scenario);

}  // namespace steelyard
