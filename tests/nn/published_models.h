// The sizes that models have in torchvision, in their papers, or in the reference code of the field:
// models_test.cpp checks them and misses none. The test of a new model adds its own:
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
  std::uint64_t parameters;  // that are learned: running averages are not counted
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
