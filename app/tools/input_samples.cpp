#include "app/tools/input_samples.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "app/config/prepare_job.h"
#include "app/report/terminal_text.h"
#include "app/tools/input_pictures.h"
#include "core/error.h"
#include "core/options.h"
#include "core/text.h"
#include "worker/data/csv_table.h"
#include "worker/data/data_sets.h"
#include "worker/data/sets/csv.h"
#include "worker/data/sets/npy.h"

namespace steelyard {
namespace {

bool is_table_job(const SampleSource& source) { return source.data == "csv" || source.data == "npy"; }

// Its inputs are token numbers, which have no scale.
bool takes_tokens(const nn::Model& model) {
  return std::ranges::all_of(model.nodes(), [](const nn::Node& node) {
    return std::ranges::count(node.inputs, 0U) == 0 || std::holds_alternative<nn::Embedding>(node.kind);
  });
}

// What divides integers of a file: pixels have values from 0 to 255.
double scale_of_integers(const SampleSource& source, const nn::Model& model) {
  return is_table_job(source) || takes_tokens(model) ? 1 : 255;
}

// Raw samples of a file as inputs of the model.
class FileSamples final : public DataSet {
 public:
  // `by`: of raw values. `scale`: divides values of the file to make them raw. `fills`: NaN is a missing
  // value.
  FileSamples(std::shared_ptr<const DataSet> file, const nn::Model& model, Normalization by, double scale,
              bool fills)
      : file_(std::move(file)),
        by_(std::move(by)),
        scale_(scale),
        fills_(fills),
        shape_(model.input()),
        classes_(model.classes()),
        labels_(model.labels()) {}

  [[nodiscard]] std::uint64_t size() const override { return file_->size(); }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  [[nodiscard]] std::uint32_t labels() const override { return labels_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    std::uint32_t unused = 0;
    file_->read(index, into, &unused);
    std::fill_n(labels, labels_, 0U);
    for (std::uint64_t i = 0; i < shape_.size(); ++i) {
      const std::size_t channel = by_.mean.size() == 1 ? 0 : i % shape_.channels;
      into[i] = static_cast<float>((double{into[i]} / scale_ - by_.mean[channel]) / by_.deviation[channel]);
      if (fills_ && std::isnan(into[i])) into[i] = 0;  // the mean
    }
  }

 private:
  const std::shared_ptr<const DataSet> file_;
  const Normalization by_;
  const double scale_;
  const bool fills_;
  const nn::Shape shape_;
  const std::uint32_t classes_, labels_;
};

// Whether samples of this array have the model's input shape, or the same number of values in one dimension.
bool fits(std::vector<std::uint64_t> shape, nn::Shape wanted) {
  shape.erase(shape.begin());
  if (shape == std::vector<std::uint64_t>{wanted.size()}) return true;
  if (wanted.channels == 1 && shape.size() == 2) shape.push_back(1);
  return shape == std::vector<std::uint64_t>{wanted.height, wanted.width, wanted.channels};
}

NpyArray no_labels(const NpyArray& array) {
  const auto zeros = std::make_shared<std::vector<std::uint8_t>>(array.shape.at(0));
  return {{array.bytes.file, *zeros, zeros}, 0, 'u', 1, {array.shape.at(0)}};
}

InputSamples array_samples(const std::string& path, const Normalization& by, const SampleSource& source,
                           const nn::Model& model) {
  const NpyArray array = open_npy(path);
  if (!fits(array.shape, model.input())) {
    std::string there;
    for (const std::uint64_t extent : array.shape)
      there += (there.empty() ? "" : " x ") + std::to_string(extent);
    refuse_setup(path + ": has shape " + there + ", and the model takes samples of " +
                 to_string(model.input()) +
                 " (row x column x channel): give an array of them, with the sample as first dimension");
  }
  const double scale = array.kind == 'f' ? 1 : scale_of_integers(source, model);
  const auto values = std::make_shared<NpyDataSet>(array, no_labels(array), model.classes());
  return {std::make_shared<FileSamples>(values, model, by, scale, false)};
}

// The format of the job's own files; for other jobs, that of `file`.
CsvFormat format_for(const FileBytes& file, const Job& job, const nn::Model& model) {
  const auto* row = find_choice("csv", DataTable{}, built_in_data_sets());
  if (job.data == row->name) return csv_format(Options("data set 'csv'", row->options, data_options_of(job)));
  CsvFormat format;
  format.header = has_csv_header(file, format);
  if (!takes_targets(model.loss())) return format;
  format.kind = counts_answers(model.loss()) ? LabelKind::binary : LabelKind::numbers;
  for (std::uint64_t i = 1; i <= model.classes(); ++i)
    format.label.push_back(std::to_string(model.input().size() + i));
  return format;
}

InputSamples csv_samples(const FileBytes& file, const Normalization& by, const Job& job,
                         const SampleSource& source, const nn::Model& model) {
  const CsvFormat format = format_for(file, job, model);
  const auto columns = static_cast<std::uint32_t>(model.input().size());
  CsvTable table = read_csv_table(
      file, format, {source.column_names, columns, "the data that the model was trained on", false});
  InputSamples it;
  if (const std::uint64_t dropped = table.records - table.size(); dropped > 0)
    it.notes.push_back("missing = \"drop\" in [data] leaves out " + count_of(dropped, "record") +
                       " with missing values; sample numbers count them");
  std::vector<std::uint32_t> zeros(table.size());
  const auto rows =
      std::make_shared<TableDataSet>(std::move(table.values), std::move(zeros), model.classes());
  it.data = std::make_shared<FileSamples>(rows, model, by, scale_of_integers(source, model), true);
  it.numbers = std::move(table.numbers);
  it.labels = std::move(table.labels);
  it.targets = std::move(table.targets);
  return it;
}

bool is_array(const FileBytes& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.size());
  return text.starts_with("\x93NUMPY") || text.starts_with("PK");
}

// A note if the mean of an input is many deviations away from that of training.
std::optional<std::string> far_note(const DataSet& data, const SampleSource& source, bool normalized) {
  constexpr double far = 10;
  constexpr std::uint64_t most = 1024;  // samples
  const std::uint64_t samples = std::min(data.size(), most), size = data.shape().size();
  const std::uint32_t channels = data.shape().channels;
  std::vector<float> values(size);
  std::vector<std::uint32_t> labels(data.labels());
  std::vector<double> mean(channels);
  for (std::uint64_t index = 0; index < samples; ++index) {
    data.read(index, values.data(), labels.data());
    for (std::uint64_t i = 0; i < size; ++i)
      mean[i % channels] += double{values[i]} / static_cast<double>(samples * (size / channels));
  }
  const auto worst = std::ranges::max_element(mean, {}, [](double it) { return std::abs(it); });
  if (!(std::abs(*worst) > far)) return std::nullopt;
  const auto channel = static_cast<std::size_t>(worst - mean.begin());
  const std::string name = channel + 1 < source.column_names.size() ? "'" + source.column_names[channel] + "'"
                                                                    : std::to_string(channel + 1);
  return "the mean of column or channel " + name + " is " + printed("%.3g", std::abs(*worst)) +
         " standard deviations away from that of the training data: " +
         (normalized ? "if the values are raw, leave --normalized out"
                     : "check its unit; if the values are normalised already, give --normalized");
}

}  // namespace

InputSamples open_input(const std::vector<std::string>& paths, bool normalized, const Job& job,
                        const SampleSource& source, const nn::Model& model) {
  const Normalization by = normalized ? Normalization{} : Normalization{source.mean, source.deviation};
  const std::string& path = paths.at(0);
  const bool named = path.find(".npz:") != std::string::npos;
  const bool pictures = paths.size() > 1 || holds_pictures(path);
  if (pictures && normalized)
    refuse_setup(path + ": pictures are normalised as in training: leave --normalized out");
  const FileBytes file = named || pictures ? FileBytes{} : open_bytes(path);
  InputSamples it = pictures ? input_pictures(paths, by, job, source, model)
                    : named || path.ends_with(".npy") || is_array(file)
                        ? array_samples(path, by, source, model)
                        : csv_samples(file, by, job, source, model);
  if (takes_tokens(model)) return it;
  if (auto note = far_note(*it.data, source, normalized)) it.notes.push_back(std::move(*note));
  return it;
}

}  // namespace steelyard
