#include "worker/data/table_set.h"

#include <algorithm>

#include "core/check.h"
#include "worker/data/normalization.h"

namespace steelyard {

TableDataSet::TableDataSet(std::vector<float> values, std::vector<std::uint32_t> labels,
                           std::uint32_t classes)
    : values_(std::move(values)),
      labels_(std::move(labels)),
      classes_(classes),
      columns_(static_cast<std::uint32_t>(values_.size() / labels_.size())) {}

void TableDataSet::normalize(const Normalization& by) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t column = i % columns_;
    values_[i] = static_cast<float>((double{values_[i]} - by.mean[column]) / by.deviation[column]);
  }
}

void TableDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < labels_.size(), "a sample is read that does not exist");
  std::copy_n(values_.data() + index * columns_, columns_, into);
  *labels = labels_[index];
}

DataSets normalized_tables(const std::shared_ptr<TableDataSet>& train,
                           const std::shared_ptr<TableDataSet>& test, bool normalized) {
  DataSets sets{train, test};
  if (!normalized) return sets;
  sets.normalization = measure(*train);
  train->normalize(sets.normalization);
  test->normalize(sets.normalization);
  return sets;
}

}  // namespace steelyard
