// Data sets from text files: rows of numbers in CSV and in LIBSVM's format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "worker/data/file_bytes.h"
#include "worker/data/samples.h"

namespace steelyard {

// TableDataSet: rows of floats in memory, from text files; each column is a channel.
class TableDataSet final : public DataSet {
 public:
  // `values` has a row for each label; labels are below `classes`.
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

// CSV (RFC 4180): records of fields separated by commas, on lines that end in LF or CRLF; a quoted field may
// contain commas, line ends and doubled quotes. One column is the label, the others are finite numbers in the
// format of std::from_chars ("1.5", "-2e-3").
//
// Both files have the same columns. For errors, functions throw Failure (io), which names the file and the
// line. Files may be gzipped. Values are kept in memory as floats.

// Calls `record` for each record of the file, with its first line number and its fields. Empty lines are
// ignored.
void read_csv(const FileBytes& file,
              const std::function<void(std::uint64_t line, const std::vector<std::string>& fields)>& record);

struct CsvOptions {
  std::filesystem::path train{}, test{};
  std::string label{};    // the label's column: its name, or its number from 1; empty: the last
  bool header = true;     // the first record contains the names
  bool normalize = true;  // each column, with the training set's measure()
};

// Shape {1, 1, columns}; classes as in ClassNames.
DataSets open_csv(const CsvOptions& options);

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
