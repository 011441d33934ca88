// Programs of your own on Steelyard: run() is the whole command line, and a Registry adds models, engines,
// data sets and policies to the built-in ones.
//
//   int main(int argc, char** argv) {
//     return steelyard::run(argc, argv, {.models = {{"mine", my_model}}, .data_sets = {{"ours", our_data}}});
//   }
//
// The program has then all commands that `steelyard` itself has (`steelyard help`): train, compare, simulate,
// profile, launch, and the roles by hand. All processes of a job that compute must be of the same program, on
// every host of a launch too; servers may be any.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. What they
// include is part of that; all other headers may change with any release.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/engine.h>
#include <steelyard/model.h>
#include <steelyard/policy.h>
#include <steelyard/predictor.h>

#include <functional>

namespace steelyard {

// What a program adds to the built-in tables. A row may take the name of a built-in one: it is looked up
// first.
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

// Returns the exit code (steelyard/failure.h). Catches everything; never throws.
int run(int argc, char** argv, Registry own = {});

}  // namespace steelyard
