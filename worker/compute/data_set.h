// DataSet: labelled samples by number. What a user implements to train on data of their own, and adds to a
// DataTable (worker/compute/data_sets.h).
//
// All processes of a job see the same data set under the same numbers: a position of an epoch is turned into
// a sample number by core/permutation.h, and nothing else about samples is ever sent.
//
//   class Digits : public DataSet {
//     ...
//     void read(std::uint64_t index, float* into, std::uint32_t& label) const override {
//       draw(index, into);  // 28 * 28 floats
//       label = static_cast<std::uint32_t>(index % 10);
//     }
//   };
//
// Values are best kept near mean 0 and deviation 1, which is what the built-in models are initialised for.
// Calls come from the feeding thread of each worker, in a simulation from several at once.
#pragma once

#include <cstdint>
#include <memory>

#include "nn/shape.h"

namespace steelyard {

class DataSet {
 public:
  virtual ~DataSet() = default;

  // Constant over the life of the object.
  [[nodiscard]] virtual std::uint64_t size() const = 0;  // samples
  [[nodiscard]] virtual nn::Shape shape() const = 0;     // of each
  [[nodiscard]] virtual std::uint32_t classes() const = 0;

  // Writes the shape().size() floats of sample `index` < size(), channels last, and its label < classes().
  // A pure function of the index, from any thread at any time; must not throw: what can be wrong with data
  // is found when the data set is made.
  virtual void read(std::uint64_t index, float* into, std::uint32_t& label) const = 0;
};

// What one job trains and evaluates on: of one shape, with the same classes.
struct DataSets {
  std::shared_ptr<const DataSet> train, test;
};

}  // namespace steelyard
