#include "app/tools/predict_command.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "core/error.h"
#include "nn/network.h"
#include "worker/compute/engines.h"
#include "worker/data/normalization.h"
#include "worker/data/sets/npy.h"

namespace steelyard {

void run_eval(const EvalCommand& command) {
  SavedModel saved = find_saved(command.saved);
  open_workload(saved);
  const std::uint64_t samples = saved.workload.data.test->size(), answers = samples * saved.job.labels;
  std::vector<nn::Sums> parts(most_parts());
  in_parts(samples, [&](std::size_t part, Interval positions) {
    const auto engine = saved.workload.make_engine();
    TestSamples stream(saved.workload.data, positions, engine->micro_batch_sizes());
    parts[part] = engine->evaluate(saved.snapshot.parameters, stream);
  });
  nn::Sums sums;
  for (const nn::Sums& it : parts) sums += it;

  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("checkpoint %s: %s\n", shown_line(saved.path).c_str(),
              place_of(saved.snapshot.progress).c_str());
  std::printf("  model               %s, %llu parameters\n", shown_line(saved.job.model).c_str(),
              number(saved.snapshot.layout.size()));
  std::printf("  data                %s, %llu test samples\n", shown_line(saved.job.data).c_str(),
              number(samples));
  std::printf("  test loss           %.6g\n", sums.loss / static_cast<double>(samples));
  std::printf("  test accuracy       %.2f %%   (%llu of %llu)\n",
              100 * static_cast<double>(sums.correct) / static_cast<double>(answers), number(sums.correct),
              number(answers));
}

namespace {

// The samples of an array as inputs of the model, all with label 0. Bytes are taken for pixels and normalised
// as in training; other numbers are used as they are.
class FileSamples final : public DataSet {
 public:
  FileSamples(const NpyArray& array, const nn::Model& model, const SampleSource& source)
      : values_(array, no_labels(array), model.classes()),
        shape_(model.input()),
        classes_(model.classes()),
        labels_(model.labels()) {
    if (array.kind != 'u' || array.width != 1) return;
    for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
      inputs_of_bytes_.push_back(floats_of_bytes({source.mean, source.deviation}, channel));
    }
  }

  [[nodiscard]] std::uint64_t size() const override { return values_.size(); }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return classes_; }
  [[nodiscard]] std::uint32_t labels() const override { return labels_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    std::uint32_t unused = 0;
    values_.read(index, into, &unused);
    std::fill_n(labels, labels_, 0U);
    for (std::uint64_t i = 0; !inputs_of_bytes_.empty() && i < shape_.size(); ++i) {
      into[i] = inputs_of_bytes_[i % shape_.channels][static_cast<std::size_t>(into[i])];
    }
  }

 private:
  static NpyArray no_labels(const NpyArray& array) {
    const auto zeros = std::make_shared<std::vector<std::uint8_t>>(array.shape.at(0));
    return {{array.bytes.file, *zeros, zeros}, 0, 'u', 1, {array.shape.at(0)}};
  }

  const NpyDataSet values_;
  const nn::Shape shape_;
  const std::uint32_t classes_, labels_;
  std::vector<std::array<float, 256>> inputs_of_bytes_;  // by channel; empty: the array has no bytes
};

// Whether samples of this array have the model's input shape, or the same number of values in one dimension.
bool fits(std::vector<std::uint64_t> shape, nn::Shape wanted) {
  shape.erase(shape.begin());
  if (shape == std::vector<std::uint64_t>{wanted.size()}) return true;
  if (wanted.channels == 1 && shape.size() == 2) shape.push_back(1);
  return shape == std::vector<std::uint64_t>{wanted.height, wanted.width, wanted.channels};
}

std::shared_ptr<const DataSet> samples_of(const std::string& path, const SampleSource& source,
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
  return std::make_shared<FileSamples>(array, model, source);
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

// Checkpoint, model and samples of a prediction. The job's own data are opened only if they are the samples,
// or if the checkpoint does not record the shape of its samples.
struct Task {
  Snapshot snapshot;
  nn::Model model;
  DataSets data;  // test samples
};

Task task_of(const PredictCommand& command) {
  const bool of_file = !command.input.empty();
  SavedModel saved = find_saved(command.saved);
  std::optional<nn::Model> alone = of_file ? model_alone(saved) : std::nullopt;
  if (alone) {
    DataSets data;
    data.test = samples_of(command.input, saved.snapshot.source, *alone);
    data.name = command.input;
    return {std::move(saved.snapshot), std::move(*alone), std::move(data)};
  }
  open_workload(saved);
  if (!saved.workload.model) {
    refuse_setup(
        "model '" + saved.job.model +
        "' has its own engine, which gives no scores: predict works only with models that are made of "
        "layers");
  }
  Task task{std::move(saved.snapshot), std::move(*saved.workload.model), std::move(saved.workload.data)};
  if (of_file) task.data.test = samples_of(command.input, task.snapshot.source, task.model);
  return task;
}

}  // namespace

void run_predict(const PredictCommand& command) {
  check_output("--out", command.output);
  const Task task = task_of(command);
  const nn::Model& model = task.model;
  const DataSets& data = task.data;
  const bool labelled = command.input.empty();

  const std::uint64_t answers = model.labels();  // per sample; only the last one is printed: the next token
  std::vector<std::string> parts(most_parts());
  in_parts(data.test->size(), [&](std::size_t part, Interval positions) {
    nn::Network network(model);
    std::vector<float> scores(answers * nn::largest_micro_batch * model.classes());
    TestSamples stream(data, positions, CpuEngine(model).micro_batch_sizes());
    std::uint64_t sample = positions.begin;
    while (const nn::MicroBatch* batch = stream.next()) {
      network.predict(task.snapshot.parameters, *batch, scores);
      for (std::uint32_t i = 0; i < batch->count; ++i, ++sample) {
        const Answer it =
            answer_of(std::span(scores).subspan((answers * (i + 1) - 1) * model.classes(), model.classes()));
        parts[part] += std::to_string(sample) + "," + std::to_string(it.best) + "," +
                       fixed(it.probability, 6) +
                       (labelled ? "," + std::to_string(batch->labels[answers * (i + 1) - 1]) : "") + "\n";
      }
    }
  });
  std::string text = labelled ? "sample,class,probability,label\n" : "sample,class,probability\n";
  for (const std::string& part : parts) text += part;
  write_output("--out", command.output, text);
}

}  // namespace steelyard
