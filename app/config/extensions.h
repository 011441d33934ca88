// What a user's program adds to the built-in tables. A row may take the name of a built-in one: it is asked
// first.
#pragma once

#include <functional>

#include "balancing/policies.h"
#include "nn/models.h"
#include "worker/compute/workload.h"
#include "worker/data/data_sets.h"

namespace steelyard {

struct Extensions {
  nn::ModelTable models{};
  EngineTable engines{};  // models that an engine of their own computes
  DataTable data_sets{};
  // What this program's workers train in a job whose model is "external": such a job leaves layout, first
  // weights and data to its workers, and the scheduler asks the first of them.
  std::function<Workload()> workload{};
  balancing::PolicyTable policies{};
  balancing::PredictorTable predictors{};  // for the policies that take one by name: lb-bsp
};

}  // namespace steelyard
