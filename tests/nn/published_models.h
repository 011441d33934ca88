// Published sizes of models, from torchvision, their papers, or the usual reference code. models_test.cpp
// checks them and requires one for each built-in model. The test of a new model adds its own:
//
//   const bool published = publish({{"name", {32, 32, 3}, 10, 272'474}});
#pragma once

#include <steelyard/shape.h>

#include <cstdint>
#include <vector>

namespace steelyard::nn {

struct Published {
  const char* name;
  Shape input;
  std::uint32_t classes;
  std::uint64_t parameters;  // trained ones; running averages do not count
};

inline std::vector<Published>& published_models() {
  static std::vector<Published> all;
  return all;
}

inline bool publish(const std::vector<Published>& rows) {
  published_models().insert(published_models().end(), rows.begin(), rows.end());
  return true;
}

}  // namespace steelyard::nn
