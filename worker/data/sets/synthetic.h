// A computed data set, for tests, benchmarks, and machines without data files.
//
//  x = prototype of the label + noise * e
//
// Each class has a prototype of squares of 4 x 4 pixels, each with a value drawn uniformly from [-1, 1), so
// that convolutions and pools have structure to find. e is drawn for each pixel of each sample, from a
// uniform distribution with mean 0 and deviation 1: that needs no logarithm, so samples have the same bits on
// every machine. Labels are drawn uniformly.
//
// Everything is a pure function of (seed, part, index); only the prototypes are stored. Sets with the same
// seed and shape share their prototypes, so that a model trained on one part can be tested on the other.
#pragma once

#include <vector>

#include "worker/data/samples.h"

namespace steelyard {

struct SyntheticOptions {
  std::uint64_t samples = 10000;
  std::uint32_t classes = 10;
  nn::Shape shape{28, 28, 1};
  double noise = 1;
  std::uint64_t seed = 1;
  std::uint64_t part = 0;  // 0: training; 1: test
};

class SyntheticDataSet : public DataSet {
 public:
  explicit SyntheticDataSet(const SyntheticOptions& options);

  [[nodiscard]] std::uint64_t size() const override { return options_.samples; }
  [[nodiscard]] nn::Shape shape() const override { return options_.shape; }
  [[nodiscard]] std::uint32_t classes() const override { return options_.classes; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;

  // The centre of a class's samples.
  [[nodiscard]] const float* prototype(std::uint32_t label) const {
    return prototypes_.data() + label * options_.shape.size();
  }

 private:
  SyntheticOptions options_;
  std::vector<float> prototypes_;  // [class][row][column][channel]
};

}  // namespace steelyard
