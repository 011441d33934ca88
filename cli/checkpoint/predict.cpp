#include "cli/checkpoint/predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/checkpoint/saved_model.h"
#include "core/error.h"
#include "nn/network.h"
#include "report/output_file.h"
#include "server/durable_file.h"
#include "worker/compute/npy.h"

namespace steelyard {
namespace {

constexpr std::uint64_t longest_input = std::uint64_t{16} << 30;  // bytes

// The samples of a file, all with label 0.
class FileSamples final : public DataSet {
 public:
  FileSamples(NpyArray array, nn::Shape shape, std::uint32_t classes)
      : values_(std::move(array.values)), size_(array.shape.at(0)), shape_(shape), classes_(classes) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  void read(std::uint64_t index, float* into, std::uint32_t& label) const override {
    std::copy_n(values_.data() + index * shape_.size(), shape_.size(), into);
    label = 0;
  }

 private:
  const std::vector<float> values_;
  const std::uint64_t size_;
  const nn::Shape shape_;
  const std::uint32_t classes_;
};

// Whether samples of this array are such as the model takes, or the same values in one row each.
bool fits(std::vector<std::uint64_t> shape, nn::Shape wanted) {
  if (shape.empty()) return false;
  shape.erase(shape.begin());
  if (shape == std::vector<std::uint64_t>{wanted.size()}) return true;
  if (wanted.channels == 1 && shape.size() == 2) shape.push_back(1);
  return shape == std::vector<std::uint64_t>{wanted.height, wanted.width, wanted.channels};
}

std::shared_ptr<const DataSet> samples_of(const std::string& path, const SampleSource& source,
                                          const nn::Model& model) {
  NpyArray array = parse_npy(read_bytes(path, longest_input), path);
  if (!fits(array.shape, model.input())) {
    std::string there;
    for (const std::uint64_t extent : array.shape)
      there += (there.empty() ? "" : " x ") + std::to_string(extent);
    throw Failure(ExitCode::configuration,
                  path + ": is " + there + "; the model takes samples of " + to_string(model.input()) +
                      " (row x column x channel), any number of them: the first extent is the sample");
  }
  if (array.bytes) {
    for (float& value : array.values) {
      value = static_cast<float>((static_cast<double>(value) / 255 - source.mean) / source.deviation);
    }
  }
  return std::make_shared<FileSamples>(std::move(array), model.input(), model.classes());
}

struct Answer {
  std::uint32_t best = 0;
  double probability = 0;
};

Answer answer_of(std::span<const float> scores) {
  const auto best = std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - static_cast<double>(*best));
  return {static_cast<std::uint32_t>(best - scores.begin()), 1 / sum};
}

}  // namespace

int run_predict(const PredictCommand& command, const Extensions& extensions) {
  check_output("--out", command.output);
  SavedModel saved = open_saved(command.saved, extensions);
  if (!saved.workload.model) {
    throw Failure(ExitCode::configuration,
                  "model '" + saved.job.model +
                      "' has an engine of its own, which gives no scores: predict takes "
                      "models that are made of layers");
  }
  const nn::Model& model = *saved.workload.model;
  DataSets& data = saved.workload.data;
  const bool labelled = command.input.empty();
  if (!labelled) data.test = samples_of(command.input, saved.snapshot.source, model);

  std::vector<std::string> parts(most_parts());
  in_parts(data.test->size(), [&](std::size_t part, Interval positions) {
    nn::Network network(model);
    std::vector<float> scores(std::uint64_t{nn::largest_micro_batch} * model.classes());
    TestSamples stream(data, positions, {nn::micro_batch_sizes.begin(), nn::micro_batch_sizes.end()});
    std::uint64_t sample = positions.begin;
    while (const nn::MicroBatch* batch = stream.next()) {
      network.predict(saved.snapshot.parameters, *batch, scores);
      for (std::uint32_t i = 0; i < batch->count; ++i, ++sample) {
        const Answer it = answer_of(std::span(scores).subspan(i * model.classes(), model.classes()));
        char line[96];
        std::snprintf(line, sizeof line, "%llu,%u,%.6f", static_cast<unsigned long long>(sample), it.best,
                      it.probability);
        parts[part] += line + (labelled ? "," + std::to_string(batch->labels[i]) : "") + "\n";
      }
    }
  });
  std::string text = labelled ? "sample,class,probability,label\n" : "sample,class,probability\n";
  for (const std::string& part : parts) text += part;
  write_output("--out", command.output, text);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
