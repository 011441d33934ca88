// What a user's program adds to the built-in tables, for the whole process. A row may take the name of a
// built-in one: it is looked up first.
//
// run() fills the registry before it reads the command line; afterwards it is constant, so any thread may
// read it. What looks up a name (make_policy(), open_data(), workload_of(), help) passes the table of the
// registry.
#pragma once

#include <functional>

#include "app/config/registry.h"
#include "balancing/policies.h"
#include "nn/models.h"
#include "worker/compute/workload.h"
#include "worker/data/data_sets.h"

namespace steelyard {

struct Registry {
  nn::ModelTable models{};
  EngineTable engines{};  // models that an engine of their own computes
  DataTable data_sets{};
  // What this program's workers train in a job whose model is "external": such a job leaves layout, first
  // weights and data to its workers, and the scheduler asks the first of them.
  std::function<Workload()> workload{};
  balancing::PolicyTable policies{};
  balancing::PredictorTable predictors{};  // for the policies that take one by name: lb-bsp
};

const Registry& registry();
// Replaces all of it. Not while another thread may read it.
void set_registry(Registry rows);

}  // namespace steelyard
