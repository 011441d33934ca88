#include "worker/data/sets/text_rows.h"

#include <algorithm>
#include <string_view>

#include "core/check.h"
#include "core/error.h"
#include "core/text.h"
#include "worker/data/data_sets.h"
#include "worker/data/normalization.h"
#include "worker/data/samples.h"

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

namespace {

[[noreturn]] void refuse_row(const FileBytes& file, std::uint64_t line, const std::string& what) {
  throw Failure(ExitCode::io, file.file.string() + ":" + std::to_string(line) + ": " + what);
}

struct Table {
  std::vector<float> values;
  std::vector<std::string> labels;
  std::vector<std::uint64_t> lines;  // of each record
  std::vector<std::string> names;    // of all columns
};

std::size_t label_column(const FileBytes& file, const CsvOptions& options, std::uint64_t line,
                         const std::vector<std::string>& first) {
  if (first.size() < 2)
    refuse_row(file, line, "expected a label and at least one value: give columns between commas");
  if (options.label.empty()) return first.size() - 1;
  const auto named = std::ranges::find(first, options.label);
  if (options.header && named != first.end()) return static_cast<std::size_t>(named - first.begin());
  const auto number = number_in<std::size_t>(options.label);
  if (number && *number >= 1 && *number <= first.size()) return *number - 1;
  refuse_row(file, line,
             "there is no column '" + options.label + "'" +
                 (options.header ? among(options.label, first) + ", or its number from 1 on"
                                 : ": give its number, from 1 to " + std::to_string(first.size())));
}

void add(const FileBytes& file, std::uint64_t line, const std::vector<std::string>& fields, std::size_t label,
         Table& table) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i == label) continue;
    const auto value = finite_number(fields[i]);
    if (!value) {
      refuse_row(file, line,
                 "column " + std::to_string(i + 1) + ": '" + fields[i].substr(0, 40) +
                     "' is not a finite number: correct it, or leave the column out");
    }
    table.values.push_back(static_cast<float>(*value));
  }
  table.labels.push_back(fields[label]);
  table.lines.push_back(line);
}

Table read_table(const FileBytes& file, const CsvOptions& options) {
  Table table;
  std::size_t columns = 0, label = 0;
  read_csv(file, [&](std::uint64_t line, const std::vector<std::string>& fields) {
    if (columns == 0) {
      columns = fields.size();
      label = label_column(file, options, line, fields);
      if (options.header) {
        table.names = fields;
        return;
      }
    }
    if (fields.size() != columns) {
      refuse_row(file, line,
                 "expected " + std::to_string(columns) + " columns, as in the first record, found " +
                     std::to_string(fields.size()));
    }
    add(file, line, fields, label, table);
  });
  if (table.labels.empty()) refuse_row(file, 1, "it has no records: give at least one");
  return table;
}

std::shared_ptr<TableDataSet> set_of(const FileBytes& file, Table table, const ClassNames& classes) {
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < table.labels.size(); ++i) {
    const auto label = classes.find(table.labels[i]);
    if (!label) {
      refuse_row(
          file, table.lines[i],
          "label '" + table.labels[i].substr(0, 40) + "' is not among those of the training set: correct it");
    }
    labels.push_back(*label);
  }
  return std::make_shared<TableDataSet>(std::move(table.values), std::move(labels), classes.size());
}

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
    refuse_row(file, number, "label '" + std::string(label.substr(0, 40)) + "' is not a number: correct it");
  }
  std::uint32_t before = 0;
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto column = number_in<std::uint32_t>(word.substr(0, colon));
    const auto value = colon < word.size() ? finite_number(word.substr(colon + 1)) : std::nullopt;
    if (!column || !value) {
      refuse_row(
          file, number,
          "'" + std::string(word.substr(0, 40)) + "' is not an index:value with a finite number: correct it");
    }
    if (*column <= before || *column > most) {
      refuse_row(file, number,
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

void read_csv(const FileBytes& file,
              const std::function<void(std::uint64_t, const std::vector<std::string>&)>& record) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.size());
  std::vector<std::string> fields;
  std::uint64_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t begins = line;
    fields.clear();
    for (bool more = true; more;) {
      std::string& field = fields.emplace_back();
      if (at < text.size() && text[at] == '"') {
        for (++at;; ++at) {
          if (at >= text.size())
            refuse_row(file, begins, "a quote is opened and never closed: close it with '\"'");
          if (text[at] == '"' && !(at + 1 < text.size() && text[at + 1] == '"')) break;
          if (text[at] == '"') ++at;  // two quotes stand for one
          line += text[at] == '\n' ? 1 : 0;
          field += text[at];
        }
        ++at;
      } else {
        const std::size_t end = std::min(text.find_first_of(",\r\n\"", at), text.size());
        field = text.substr(at, end - at);
        at = end;
      }
      more = at < text.size() && text[at] == ',';
      if (more) ++at;
    }
    if (at < text.size() && text[at] == '\r') ++at;
    if (at < text.size() && text[at] != '\n') {
      refuse_row(file, line,
                 "a quote, or the end of a line, in the middle of a field: put the whole field in quotes");
    }
    ++at;
    ++line;
    if (fields.size() > 1 || !fields[0].empty()) record(begins, fields);
  }
}

DataSets open_csv(const CsvOptions& options) {
  const FileBytes train_file = open_bytes(options.train), test_file = open_bytes(options.test);
  Table train = read_table(train_file, options), test = read_table(test_file, options);
  const std::size_t columns = train.values.size() / train.labels.size();
  if (test.values.size() / test.labels.size() != columns || test.names != train.names) {
    refuse_row(test_file, 1,
               "its columns are not those of " + options.train.string() + ": give two files of one table");
  }
  const ClassNames classes(train.labels);
  const auto first = set_of(train_file, std::move(train), classes),
             second = set_of(test_file, std::move(test), classes);
  return sets_of(first, second, options.normalize);
}

SparseRows read_libsvm(const FileBytes& file, std::uint32_t most) {
  std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.size());
  SparseRows rows;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    add(file, number, line.substr(0, line.find('#')), most == 0 ? most_columns : most, rows);
  }
  if (rows.labels.empty()) refuse_row(file, 1, "it has no samples: give at least one");
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
  return {set_of(train_file, std::move(first), classes, columns),
          set_of(test_file, std::move(second), classes, columns)};
}

DataTable text_rows_rows() {
  const auto make_csv = [](const Options& options) {
    return open_csv({given_file(options, "train"), given_file(options, "test"),
                     options.has("label") ? options.text("label") : "", options.flag("header"),
                     options.flag("normalize")});
  };
  const auto make_libsvm = [](const Options& options) {
    const std::uint64_t columns = options.has("columns") ? options.whole("columns") : 0;
    return open_libsvm(given_file(options, "train"), given_file(options, "test"),
                       static_cast<std::uint32_t>(columns));
  };
  return {{"csv",
           make_csv,
           "tables of numbers with a label column, gzipped or not",
           {text_option("train", "", "a file"), text_option("test", "", "a file with the same columns"),
            text_option("label", "", "the label's column, by name or number from 1; default: the last"),
            flag_option("header", true, "whether the first line contains the names of the columns"),
            normalize_option()}},
          {"libsvm",
           make_libsvm,
           "lines of label index:value ..., the sparse format of LIBSVM, gzipped or not",
           {text_option("train", "", "a file"), text_option("test", "", "a file"),
            whole_option("columns", std::nullopt, 1, 1 << 24, "default: as many as the files need")}}};
}

}  // namespace steelyard
