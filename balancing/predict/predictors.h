// The one table of predictors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "balancing/predict/predictor.h"

namespace steelyard::balancing {

// By name: last, ema, arima, rnn, narx. The seed is for those that start at random. Throws Failure
// (configuration) that lists the known names.
std::unique_ptr<Predictor> make_predictor(const std::string& name, std::uint64_t seed);

std::vector<std::string> predictor_names();

}  // namespace steelyard::balancing
