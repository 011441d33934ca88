#include "worker/data/csv.h"

#include <algorithm>

#include "core/error.h"
#include "core/near_match.h"
#include "core/text.h"
#include "worker/data/class_names.h"
#include "worker/data/table_set.h"

namespace steelyard {
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
                     "' is no finite number: correct it, or leave the column out");
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
          if (text[at] == '"') ++at;  // two stand for one
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
  return normalized_tables(first, second, options.normalize);
}

}  // namespace steelyard
