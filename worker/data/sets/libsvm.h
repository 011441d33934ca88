// Data sets in the text format of LIBSVM.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "worker/data/file_bytes.h"
#include "worker/data/samples.h"

namespace steelyard {

// The sparse text format of LIBSVM (C.-C. Chang, C.-J. Lin, https://www.csie.ntu.edu.tw/~cjlin/libsvm): one
// line per sample,
//
//  label index:value index:value ...   # a comment
//
// with ascending indices from 1; missing values are 0. Rows are kept sparse in memory; read() makes a sample
// dense. For errors, functions throw Failure (io), which names file and line. Files may be gzipped.
struct SparseRows {
  std::vector<std::uint64_t> begins{0};  // of each row in the following two, and the end
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  std::vector<std::string> labels;
  std::uint32_t highest = 0;  // highest column number, from 1; 0: none
};
// `most`: maximum number of columns; 0: unlimited.
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

// `columns`: 0 for the number that both files need. Classes as in ClassNames.
DataSets open_libsvm(const std::filesystem::path& train, const std::filesystem::path& test,
                     std::uint32_t columns);

}  // namespace steelyard
