// Tables of numbers with a label column (or columns of targets), from CSV files: which columns are the
// inputs, which are the labels, and what becomes of missing values.
#pragma once

#include <steelyard/choice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/data/file_bytes.h"
#include "worker/data/targets.h"

namespace steelyard {

// For an input that is empty, or NA, N/A, NaN, null, None or ?.
struct MissingRule {
  enum class Kind : std::uint8_t {
    refuse,  // Failure
    drop,    // the record is left out
    mean,    // the value is NaN in CsvTable; normalization makes it the mean of its column
    number,  // `number` is used
  };
  Kind kind = Kind::refuse;
  double number = 0;
};

struct CsvFormat {
  // The label's column, or those of the targets: names, or numbers from 1; empty: the last column.
  std::vector<std::string> label{};
  bool header = true;  // the first record contains the names
  // Inputs, by name or number: only these, in this order; or all but these. At most one of the two is given.
  std::vector<std::string> columns{}, skip{};
  char separator = 0;  // 0: found in each file (csv_file.h)
  char decimal = '.';  // or ','
  MissingRule missing{};
  LabelKind kind = LabelKind::classes;  // a label of classes has one column
};

// The options of a job file with these meanings, and their values.
std::vector<Option> csv_format_options();
CsvFormat csv_format(const Options& options);

struct CsvTable {
  std::vector<float> values;           // of the inputs: a row of `columns` for each record
  std::vector<std::string> labels;     // of each record; empty: the file has no label column
  std::vector<float> targets;          // instead of labels if they are numbers: a row for each record; NaN if
                                       // one is missing in a file that needs no label
  std::vector<std::uint64_t> lines;    // of each record, from 1
  std::vector<std::uint64_t> numbers;  // of each record in the file, from 0: dropped ones count
  std::vector<std::string> names;      // of the inputs, then of the labels; empty without a header
  std::uint32_t columns = 0;           // inputs
  std::uint32_t label_columns = 0;     // 0: the file has none
  std::uint64_t records = 0;           // of the file, with dropped ones

  [[nodiscard]] std::uint64_t size() const { return lines.size(); }
};

// All throw Failure (io), which names the file and the line.
//
// The training set's file.
CsvTable read_csv_table(const FileBytes& file, const CsvFormat& format);

// Another file of the same table.
struct KnownColumns {
  std::vector<std::string> names{};  // CsvTable::names of the training set
  std::uint32_t columns = 0;         // inputs
  std::string origin{};              // "train.csv", for messages
  bool needs_label = true;
};
// With a header, columns are found by their names: their order does not matter, and others are ignored.
// Without, the columns are those of the training set, or only its inputs.
CsvTable read_csv_table(const FileBytes& file, const CsvFormat& format, const KnownColumns& known);

// Whether a field of the first record is not a number.
bool has_csv_header(const FileBytes& file, const CsvFormat& format);

}  // namespace steelyard
