// The entry point for programs built on Steelyard. run() is the complete command line. A Registry adds
// models, engines, data sets, policies and predictors to the built-in ones.
//
//   int main(int argc, char** argv) {
//     return steelyard::run(argc, argv, {.models = {{"mine", my_model}}, .data_sets = {{"ours", our_data}}});
//   }
//
// The program then has all commands of `steelyard` (`steelyard help`): train, compare, simulate, profile,
// launch, and the single roles. The scheduler and all workers of a job must run this program; servers may run
// `steelyard` or any program built on it. With model = "external", so may the scheduler.
//
// Stability: declarations in the headers of this folder, and in headers that these include, keep their
// meaning within a minor version. All other headers may change with any release.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/engine.h>
#include <steelyard/model.h>
#include <steelyard/policy.h>
#include <steelyard/predictor.h>

#include <functional>

namespace steelyard {

// Rows that a program adds to the built-in tables. They are looked up first, so a row may replace a built-in
// one of the same name.
struct Registry {
  nn::ModelTable models{};
  EngineTable engines{};  // models with an engine of their own
  DataTable data_sets{};
  // The workload of this program's workers in a job with model = "external". Layout, initial weights and data
  // then come from the workers; the scheduler requests them from the first one.
  std::function<Workload()> workload{};
  balancing::PolicyTable policies{};
  balancing::PredictorTable predictors{};  // for policies with the option `predictor`: lb-bsp
};

// Returns the exit code (steelyard/failure.h). Catches everything; never throws.
int run(int argc, char** argv, Registry own = {});

}  // namespace steelyard
