#include "worker/data/sets/libsvm.h"

#include <algorithm>
#include <string_view>

#include "core/check.h"
#include "core/error.h"
#include "core/text.h"
#include "worker/data/csv_file.h"
#include "worker/data/data_sets.h"

namespace steelyard {

namespace {

constexpr std::uint32_t most_columns = 1 << 24;

// Removes the next word from the line and returns it.
std::string_view take_word(std::string_view& line) {
  constexpr std::string_view space = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(space), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(space));
  line.remove_prefix(word.size());
  return word;
}

void add(const FileBytes& file, std::uint64_t number, std::string_view line, std::uint32_t most,
         SparseRows& rows) {
  const std::string_view label = take_word(line);
  if (label.empty()) return;
  if (!finite_number(label)) {
    refuse_line(file, number, "label '" + std::string(label.substr(0, 40)) + "' is not a number: correct it");
  }
  std::uint32_t before = 0;
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto column = number_in<std::uint32_t>(word.substr(0, colon));
    const auto value = colon < word.size() ? finite_number(word.substr(colon + 1)) : std::nullopt;
    if (!column || !value) {
      refuse_line(
          file, number,
          "'" + std::string(word.substr(0, 40)) + "' is not an index:value with a finite number: correct it");
    }
    if (*column <= before || *column > most) {
      refuse_line(file, number,
                  "index " + std::to_string(*column) +
                      (*column <= before ? " after " + std::to_string(before) : "") +
                      ": give indices from 1 to " + std::to_string(most) + ", each above the one before");
    }
    before = *column;
    rows.columns.push_back(*column - 1);
    rows.values.push_back(static_cast<float>(*value));
  }
  rows.highest = std::max(rows.highest, before);
  rows.begins.push_back(rows.columns.size());
  rows.labels.emplace_back(label);
}

std::shared_ptr<const SparseDataSet> set_of(const FileBytes& file, SparseRows rows, const ClassNames& classes,
                                            std::uint32_t columns) {
  std::vector<std::uint32_t> labels;
  for (const std::string& label : rows.labels) {
    const auto found = classes.find(label);
    if (!found) {
      throw Failure(ExitCode::io, file.file.string() + ": label '" + label.substr(0, 40) +
                                      "' is not among those of the training set: correct it");
    }
    labels.push_back(*found);
  }
  return std::make_shared<const SparseDataSet>(std::move(rows), std::move(labels), classes.size(), columns);
}

}  // namespace

SparseRows read_libsvm(const FileBytes& file, std::uint32_t most) {
  std::string_view text = text_in(file);
  SparseRows rows;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    add(file, number, line.substr(0, line.find('#')), most == 0 ? most_columns : most, rows);
  }
  if (rows.labels.empty()) refuse_line(file, 1, "it has no samples: give at least one");
  return rows;
}

SparseDataSet::SparseDataSet(SparseRows rows, std::vector<std::uint32_t> labels, std::uint32_t classes,
                             std::uint32_t columns)
    : rows_(std::move(rows)), labels_(std::move(labels)), classes_(classes), columns_(columns) {
  CHECK(rows_.begins.size() == labels_.size() + 1 && rows_.highest <= columns_, "rows of another table");
}

void SparseDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < labels_.size(), "a sample is read that does not exist");
  std::fill_n(into, columns_, 0.0F);
  for (std::uint64_t i = rows_.begins[index]; i < rows_.begins[index + 1]; ++i)
    into[rows_.columns[i]] = rows_.values[i];
  *labels = labels_[index];
}

DataSets open_libsvm(const std::filesystem::path& train, const std::filesystem::path& test,
                     std::uint32_t columns) {
  const FileBytes train_file = open_bytes(train), test_file = open_bytes(test);
  SparseRows first = read_libsvm(train_file, columns), second = read_libsvm(test_file, columns);
  if (columns == 0) columns = std::max({first.highest, second.highest, 1U});
  const ClassNames classes(first.labels);
  return {.train = set_of(train_file, std::move(first), classes, columns),
          .test = set_of(test_file, std::move(second), classes, columns),
          .class_names = classes.names()};
}

DataTable libsvm_rows() {
  const auto make = [](const Options& options) {
    const std::uint64_t columns = options.has("columns") ? options.whole("columns") : 0;
    return open_libsvm(given_file(options, "train"), given_file(options, "test"),
                       static_cast<std::uint32_t>(columns));
  };
  return {{"libsvm",
           make,
           "lines of label index:value ..., the sparse format of LIBSVM, gzipped or not",
           {text_option("train", "", "a file"), text_option("test", "", "a file"),
            whole_option("columns", std::nullopt, 1, 1 << 24, "default: as many as the files need")}}};
}

}  // namespace steelyard
