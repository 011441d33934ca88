// PaddedDataSet: the pictures of another data set in the middle of larger ones, for models that are made for
// a size (28 x 28 for 32 x 32).
#pragma once

#include <memory>
#include <vector>

#include "worker/data/data_set.h"

namespace steelyard {

class PaddedDataSet final : public DataSet {
 public:
  // `fill`: of each channel, for what is beyond the pictures; empty: zeros. Throws Failure (configuration)
  // for a size that they do not fit.
  PaddedDataSet(std::shared_ptr<const DataSet> inner, std::uint32_t height, std::uint32_t width,
                std::vector<float> fill);

  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return inner_->classes(); }
  [[nodiscard]] std::uint32_t labels() const override { return inner_->labels(); }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;

 private:
  const std::shared_ptr<const DataSet> inner_;
  const nn::Shape shape_;
  const std::vector<float> fill_;
};

}  // namespace steelyard
