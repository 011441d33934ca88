// The sparse text format of LIBSVM (C.-C. Chang, C.-J. Lin, https://www.csie.ntu.edu.tw/~cjlin/libsvm): a line
// for each sample,
//
//  label index:value index:value ...   # a comment
//
// with indices from 1 on, ascending; what is not mentioned is 0. Kept sparse in memory; a sample becomes
// dense when it is read. What is wrong is a Failure (io) that names file and line. Files may be gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "worker/data/data_set.h"
#include "worker/data/file_bytes.h"

namespace steelyard {

struct SparseRows {
  std::vector<std::uint64_t> begins{0};  // of each row in the following two, and the end
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  std::vector<std::string> labels;
  std::uint32_t highest = 0;  // number of a column, from 1 on; 0: there is none
};
// `most`: columns; 0: any number.
SparseRows read_libsvm(const FileBytes& file, std::uint32_t most);

class SparseDataSet final : public DataSet {
 public:
  SparseDataSet(SparseRows rows, std::vector<std::uint32_t> labels, std::uint32_t classes,
                std::uint32_t columns);

  [[nodiscard]] std::uint64_t size() const override { return labels_.size(); }
  [[nodiscard]] nn::Shape shape() const override { return {1, 1, columns_}; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;

 private:
  const SparseRows rows_;
  const std::vector<std::uint32_t> labels_;
  const std::uint32_t classes_, columns_;
};

// `columns`: 0 for as many as both files need. Classes as in ClassNames.
DataSets open_libsvm(const std::filesystem::path& train, const std::filesystem::path& test,
                     std::uint32_t columns);

}  // namespace steelyard
