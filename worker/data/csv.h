// CSV (RFC 4180): records of fields between commas, in lines that end in LF or CRLF; a field in quotes may
// hold commas, line ends and doubled quotes. One column is the label, the others are finite numbers in the
// way of std::from_chars ("1.5", "-2e-3").
//
// Both files have the same columns. What is wrong is a Failure (io) that names the file and the line. Files
// may be gzipped. Values are kept in memory as floats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "worker/data/data_set.h"
#include "worker/data/file_bytes.h"

namespace steelyard {

// Calls `record` with the line in which it begins and its fields, for each in the file. Empty lines are no
// records.
void read_csv(const FileBytes& file,
              const std::function<void(std::uint64_t line, const std::vector<std::string>& fields)>& record);

struct CsvOptions {
  std::filesystem::path train{}, test{};
  std::string label{};    // the label's column: its name, or its number from 1 on; empty: the last
  bool header = true;     // the first record holds the names
  bool normalize = true;  // each column by what measure() says of the training set
};

// Shape {1, 1, columns}; classes as in ClassNames.
DataSets open_csv(const CsvOptions& options);

}  // namespace steelyard
