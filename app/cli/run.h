// steelyard::run: the whole program, with a user's own models, data sets, policies and predictors beside the
// built-in ones.
//
//   int main(int argc, char** argv) {
//     return steelyard::run(argc, argv, {.models = {{"mine", my_model}}, .data_sets = {{"ours", our_data}}});
//   }
//
// The program has then all commands that `steelyard` itself has (`steelyard help`): train, compare, simulate,
// profile, launch, and the roles by hand. All processes of a job that compute must be of the same program, on
// every host of a launch too; servers may be any.
#pragma once

#include "app/config/registry.h"

namespace steelyard {

// Returns the exit code (core/error.h). Catches everything; never throws.
int run(int argc, char** argv, Registry own = {});

}  // namespace steelyard
