// TableDataSet: rows of floats in memory, as they come from text files; each column is a channel.
#pragma once

#include <memory>
#include <vector>

#include "worker/data/data_set.h"

namespace steelyard {

class TableDataSet final : public DataSet {
 public:
  // As many rows as labels, which are below `classes`.
  TableDataSet(std::vector<float> values, std::vector<std::uint32_t> labels, std::uint32_t classes);
  void normalize(const Normalization& by);

  [[nodiscard]] std::uint64_t size() const override { return labels_.size(); }
  [[nodiscard]] nn::Shape shape() const override { return {1, 1, columns_}; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;

 private:
  std::vector<float> values_;
  const std::vector<std::uint32_t> labels_;
  const std::uint32_t classes_, columns_;
};

// Both sets; `normalized`: each column by what measure() says of the training set.
DataSets normalized_tables(const std::shared_ptr<TableDataSet>& train,
                           const std::shared_ptr<TableDataSet>& test, bool normalized);

}  // namespace steelyard
