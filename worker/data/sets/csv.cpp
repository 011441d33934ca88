#include "worker/data/sets/csv.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "worker/data/csv_file.h"
#include "worker/data/data_sets.h"
#include "worker/data/normalization.h"

namespace steelyard {

TableDataSet::TableDataSet(std::vector<float> values, std::vector<std::uint32_t> labels,
                           std::uint32_t classes)
    : values_(std::move(values)),
      labels_(std::move(labels)),
      classes_(classes),
      columns_(static_cast<std::uint32_t>(values_.size() / labels_.size())) {}

TableDataSet::TableDataSet(std::vector<float> values, std::uint32_t columns, Targets targets)
    : values_(std::move(values)), classes_(targets.each()), columns_(columns), targets_(std::move(targets)) {}

void TableDataSet::normalize(const Normalization& by) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t column = by.mean.size() == 1 ? 0 : i % columns_;
    const double scaled = (double{values_[i]} - by.mean[column]) / by.deviation[column];
    values_[i] = std::isnan(values_[i]) ? 0 : static_cast<float>(scaled);
  }
}

void TableDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < size(), "a sample is read that does not exist");
  std::copy_n(values_.data() + index * columns_, columns_, into);
  if (!labels_.empty()) *labels = labels_[index];
}

namespace {

std::shared_ptr<TableDataSet> set_of(const FileBytes& file, CsvTable table, const ClassNames& classes) {
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < table.labels.size(); ++i) {
    const auto label = classes.find(table.labels[i]);
    if (!label) {
      refuse_line(
          file, table.lines[i],
          "label '" + table.labels[i].substr(0, 40) + "' is not among those of the training set: correct it");
    }
    labels.push_back(*label);
  }
  return std::make_shared<TableDataSet>(std::move(table.values), std::move(labels), classes.size());
}

std::shared_ptr<TableDataSet> set_of(CsvTable table) {
  Targets targets(std::move(table.targets), table.label_columns);
  return std::make_shared<TableDataSet>(std::move(table.values), table.columns, std::move(targets));
}

DataSets sets_with_targets(CsvTable train, CsvTable test, const CsvOptions& options) {
  std::vector<std::string> names = train.names;
  const std::uint32_t inputs = train.columns;
  const auto first = set_of(std::move(train)), second = set_of(std::move(test));
  DataSets sets = sets_of(first, second, options.normalize);
  sets.target_scale = scale_targets(first->own_targets(), second->own_targets(),
                                    {options.format.kind, options.scale_targets});
  if (!names.empty()) sets.class_names.assign(names.begin() + inputs, names.end());
  sets.column_names = std::move(names);
  return sets;
}

}  // namespace

DataSets open_csv(const CsvOptions& options) {
  const CsvFormat& format = options.format;
  if (format.missing.kind == MissingRule::Kind::mean && !options.normalize)
    refuse_setup(
        "missing = \"mean\" takes the means that normalize = true measures: leave normalize out, or "
        "give missing a number");
  const FileBytes train_file = open_bytes(options.train), test_file = open_bytes(options.test);
  CsvTable train = read_csv_table(train_file, format);
  std::vector<std::string> names = train.names;
  CsvTable test = read_csv_table(test_file, format, {names, train.columns, options.train.string()});
  if (format.kind != LabelKind::classes) return sets_with_targets(std::move(train), std::move(test), options);
  const ClassNames classes(train.labels);
  const auto first = set_of(train_file, std::move(train), classes),
             second = set_of(test_file, std::move(test), classes);
  DataSets sets = sets_of(first, second, options.normalize);
  sets.class_names = classes.names();
  sets.column_names = std::move(names);
  return sets;
}

DataTable csv_rows() {
  const auto make = [](const Options& options) {
    return open_csv({given_file(options, "train"), given_file(options, "test"), csv_format(options),
                     options.flag("normalize"), label_options_in(options).scaled});
  };
  std::vector<Option> options{text_option("train", "", "a file"),
                              text_option("test", "", "a file with the same columns")};
  std::ranges::move(csv_format_options(), std::back_inserter(options));
  options.push_back(normalize_option());
  return {{"csv", make, "tables of numbers with a label column, gzipped or not", std::move(options)}};
}

}  // namespace steelyard
