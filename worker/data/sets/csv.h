// Data sets from CSV files (worker/data/csv_table.h).
#pragma once

#include <filesystem>
#include <vector>

#include "worker/data/csv_table.h"
#include "worker/data/samples.h"
#include "worker/data/targets.h"

namespace steelyard {

// TableDataSet: rows of floats in memory; each column is a channel. NaN is a missing value.
class TableDataSet final : public DataSet {
 public:
  // `values` has a row for each label; labels are below `classes`.
  TableDataSet(std::vector<float> values, std::vector<std::uint32_t> labels, std::uint32_t classes);
  // With targets: a row of `columns` values for each of them.
  TableDataSet(std::vector<float> values, std::uint32_t columns, Targets targets);
  // A missing value becomes the mean, which is 0 then.
  void normalize(const Normalization& by);

  // For the scale of both sets.
  [[nodiscard]] Targets& own_targets() { return targets_; }

  [[nodiscard]] std::uint64_t size() const override { return values_.size() / columns_; }
  [[nodiscard]] nn::Shape shape() const override { return {1, 1, columns_}; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;
  [[nodiscard]] std::uint32_t targets() const override { return targets_.each(); }
  void read_targets(std::uint64_t index, float* into) const override { targets_.read(index, into); }

 private:
  std::vector<float> values_;
  const std::vector<std::uint32_t> labels_;
  const std::uint32_t classes_, columns_;
  Targets targets_;
};

struct CsvOptions {
  std::filesystem::path train{}, test{};
  CsvFormat format{};
  bool normalize = true;  // each column, with the training set's measure()
  bool scale_targets = true;
};

// Shape {1, 1, columns}; classes as in ClassNames, or targets, whose names are class_names. Both files have
// the same columns, gzipped or not.
DataSets open_csv(const CsvOptions& options);

}  // namespace steelyard
