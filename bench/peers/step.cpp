// steelyard_step: training steps of one model in one process, for comparison with other frameworks.
//
//   steelyard_step --model M --weights FILE --samples FILE
//                  [--batch 128] [--threads 1] [--classes 10] [--rate 0.01] [--precision float32|bf16]
//                  [--recompute no|yes]
//
// Both files are safetensors. Weights: the tensors of the model's layout, by name and shape; others are
// ignored. Samples: "inputs", [sample][row][column][channel] or [sample][feature], and "labels", as floats.
//
// A step is the work of workers and servers in a round: the gradient of the batch, summed over micro-batches,
// then SGD with momentum 0.9 and weight decay 1e-4. With T threads each computes 1/T of the batch and of the
// update. Standard input has one command per line, each answered by one line:
//
//   about       about PARAMETERS FLOPS-PER-SAMPLE MICRO-BATCH
//   losses N    losses L1 .. LN          N steps from the weights of the file, and the mean loss of each
//   measure S   measure RATE             samples per second, over about S seconds: processor time with one
//                                        thread, wall-clock time with several
//   peak S      peak GFLOPS              FMA peak of one thread, over about S seconds of its processor time
//   memory 0    memory MB                peak resident memory of the process in another step
//   save FILE   save FILE                with the weights of the file: "scores" [sample][class] in eval mode,
//                                        and "gradient.NAME" of the mean loss
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <thread>

#include "bench/nn/fma_peak.h"
#include "core/error.h"
#include "core/interval.h"
#include "core/processor.h"
#include "core/time.h"
#include "nn/models.h"
#include "nn/network.h"
#include "nn/optimizer/rule.h"
#include "server/checkpoint/durable_file.h"
#include "server/checkpoint/safetensors.h"
#include "worker/compute/engines.h"

namespace {

using namespace steelyard;

[[noreturn]] void refuse(const std::string& what) { throw Failure(ExitCode::configuration, what); }

struct Settings {
  std::string model = "mlp", weights, samples;
  std::uint32_t batch = 128, threads = 1, classes = 10;
  double rate = 0.01;
  Precision precision = Precision::float32;
  bool recompute = false;
};

Settings read_settings(int argc, char** argv) {
  Settings it;
  const std::map<std::string, std::function<void(const std::string&)>> known{
      {"--model", [&](const std::string& text) { it.model = text; }},
      {"--weights", [&](const std::string& text) { it.weights = text; }},
      {"--samples", [&](const std::string& text) { it.samples = text; }},
      {"--batch", [&](const std::string& text) { it.batch = static_cast<std::uint32_t>(std::stoul(text)); }},
      {"--threads",
       [&](const std::string& text) { it.threads = static_cast<std::uint32_t>(std::stoul(text)); }},
      {"--classes",
       [&](const std::string& text) { it.classes = static_cast<std::uint32_t>(std::stoul(text)); }},
      {"--precision",
       [&](const std::string& text) {
         if (text != "float32" && text != "bf16") refuse("--precision is float32 or bf16");
         if (text == "bf16" && !cpu_has_bf16()) refuse("this processor does not multiply bf16");
         it.precision = precision(text);
       }},
      {"--recompute",
       [&](const std::string& text) {
         if (text != "no" && text != "yes") refuse("--recompute is no or yes");
         it.recompute = text == "yes";
       }},
      {"--rate", [&](const std::string& text) { it.rate = std::stod(text); }}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = known.find(argv[i]);
    if (option == known.end() || i + 1 == argc)
      refuse(std::string(argv[i]) + ": unknown option, or its value is missing");
    option->second(argv[i + 1]);
  }
  if (it.threads == 0 || it.batch % it.threads != 0) refuse("--batch must be a multiple of --threads");
  return it;
}

// A safetensors file in memory.
struct Tensors {
  explicit Tensors(const std::string& path)
      : name(path), bytes(read_bytes(path, std::uint64_t{4} << 30)), file(parse_safetensors(bytes, path)) {}

  const StoredTensor& at(const std::string& tensor) const {
    const StoredTensor* found = file.find(tensor);
    if (found == nullptr) refuse(name + ": tensor \"" + tensor + "\" is missing");
    return *found;
  }

  std::string name;
  std::vector<std::byte> bytes;
  TensorFile file;
};

std::vector<float> values(const StoredTensor& tensor) {
  std::vector<float> all(tensor.size());
  tensor.copy_to(all);
  return all;
}

std::vector<float> in_layout(const Layout& layout, const Tensors& from) {
  std::vector<float> flat(layout.size());
  for (const TensorPlace& place : layout.tensors) {
    const StoredTensor& stored = from.at(place.name);
    if (stored.shape != place.shape)
      refuse(from.name + ": \"" + place.name + "\" has a different shape in the model");
    stored.copy_to(std::span(flat).subspan(place.offset, place.size()));
  }
  return flat;
}

struct Batch {
  explicit Batch(const Tensors& from) : inputs(values(from.at("inputs"))), shape(from.at("inputs").shape) {
    for (const float label : values(from.at("labels"))) labels.push_back(static_cast<std::uint32_t>(label));
  }
  [[nodiscard]] nn::Shape sample() const {
    const auto extent = [&](std::size_t i) { return static_cast<std::uint32_t>(shape[i]); };
    if (shape.size() == 4) return {extent(1), extent(2), extent(3)};
    return {1, extent(shape.size() - 1), 1};  // tokens
  }

  std::vector<float> inputs;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint32_t> labels;
};

// One thread's part of the batch, as micro-batches that refer to the samples in place.
class Part final : public Samples {
 public:
  Part(const nn::Model& model, const Batch& batch, Interval samples, std::uint64_t total)
      : engine_(model), gradient_(model.parameters()) {
    const std::uint64_t features = batch.inputs.size() / total, labels = batch.labels.size() / total;
    positions_.resize(samples.size());
    std::uint64_t at = samples.begin;
    for (const std::uint32_t size : engine_.micro_batch_sizes()) {
      for (; samples.end - at >= size; at += size) {
        batches_.push_back({.inputs = batch.inputs.data() + at * features,
                            .labels = batch.labels.data() + at * labels,
                            .positions = positions_.data(),
                            .size = size,
                            .count = size});
      }
    }
  }

  nn::Sums train(std::span<const float> parameters) {
    next_ = 0;
    return engine_.train(parameters, *this, gradient_, [](std::uint64_t, std::uint64_t) {});
  }
  [[nodiscard]] std::span<float> gradient() { return gradient_; }
  [[nodiscard]] const std::vector<nn::MicroBatch>& batches() const { return batches_; }

  const nn::MicroBatch* next() override { return at_end() ? nullptr : &batches_[next_++]; }
  [[nodiscard]] bool at_end() const override { return next_ == batches_.size(); }

 private:
  CpuEngine engine_;
  std::vector<float> gradient_;
  std::vector<std::uint64_t> positions_;
  std::vector<nn::MicroBatch> batches_;
  std::size_t next_ = 0;
};

// Dropout is off, because PyTorch would draw other masks.
std::map<std::string, std::string> without_dropout(const std::string& model) {
  for (const auto& row : nn::built_in_models()) {
    if (row.name != model) continue;
    for (const Option& option : row.options) {
      if (option.name == "dropout") return {{"dropout", "0"}};
    }
  }
  return {};
}

class Trainer {
 public:
  explicit Trainer(const Settings& settings)
      : settings_(settings),
        batch_(Tensors(settings.samples)),
        model_(nn::make_model(settings.model,
                              {batch_.sample(), settings.classes, without_dropout(settings.model)})
                   .multiply_in(settings.precision)
                   .recompute_activations(settings.recompute)),
        layout_(model_.layout()),
        next_(layout_.size()) {
    if (batch_.shape[0] != settings.batch)
      refuse(settings.samples + ": the number of samples differs from --batch");
    const std::uint64_t each = settings.batch / settings.threads;
    for (std::uint64_t i = 0; i < settings.threads; ++i) {
      parts_.emplace_back(model_, batch_, Interval{i * each, (i + 1) * each}, settings.batch);
    }
    reset();
  }

  [[nodiscard]] std::string about() const {
    std::ostringstream line;
    line << next_.size() << ' ' << model_.flops_per_sample() << ' ' << parts_[0].batches()[0].size;
    return line.str();
  }

  std::string losses(int steps) {
    reset();
    std::ostringstream line;
    line.precision(9);
    for (int i = 0; i < steps; ++i) line << (i > 0 ? " " : "") << step();
    return line.str();
  }

  double rate(double for_seconds) {
    const auto now = [&] { return settings_.threads == 1 ? thread_cpu_time() : steady_now().since_origin; };
    std::uint64_t samples = 0;
    double taken = 0;
    for (const Duration start = now(); taken < for_seconds; taken = seconds(now() - start)) {
      if (!std::isfinite(step())) refuse("the loss is not finite");
      samples += settings_.batch;
    }
    return static_cast<double>(samples) / taken;
  }

  // Reading the weights, which takes twice their memory, does not count.
  std::string peak_memory() {
    std::ofstream("/proc/self/clear_refs") << 5;
    step();
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::to_string(std::stoul(line.substr(6)) / 1024);
    }
    refuse("/proc/self/status has no VmHWM line");
  }

  void save(const std::string& path) {
    reset();
    sum_gradients();
    const std::uint64_t each = std::uint64_t{model_.labels()} * model_.classes();
    std::vector<float> scores(settings_.batch * each);
    nn::Network network(model_);
    std::uint64_t at = 0;
    for (const Part& part : parts_) {
      for (const nn::MicroBatch& it : part.batches()) {
        network.predict(parameters_, it, std::span(scores).subspan(at * each));
        at += it.count;
      }
    }
    std::vector<TensorName> names{
        {"scores", {std::uint64_t{settings_.batch} * model_.labels(), model_.classes()}}};
    for (const TensorPlace& place : layout_.tensors) names.push_back({"gradient." + place.name, place.shape});
    std::vector<float> gradient(next_.size());
    const float scale = 1.0F / static_cast<float>(settings_.batch);
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = parts_[0].gradient()[i] * scale;

    std::ofstream file(path, std::ios::binary);
    file << safetensors_header(names, {});
    for (const std::vector<float>* it : {&scores, &gradient}) {
      file.write(reinterpret_cast<const char*>(it->data()),
                 static_cast<std::streamsize>(it->size() * sizeof(float)));
    }
    file.close();
    if (!file) refuse(path + ": cannot be written");
  }

 private:
  void reset() {
    parameters_ = in_layout(layout_, Tensors(settings_.weights));
    state_.assign(next_.size(), 0);
  }

  // Calls `work` with each thread's number, on that thread.
  void on_threads(const std::function<void(std::uint32_t)>& work) {
    std::vector<std::jthread> others;
    for (std::uint32_t i = 1; i < settings_.threads; ++i) others.emplace_back(work, i);
    work(0);
  }

  // Takes one step and returns the mean loss before it.
  double step() {
    const double loss = sum_gradients();
    on_threads([&](std::uint32_t i) { update(share(i)); });
    parameters_.swap(next_);
    return loss;
  }

  // Sums the gradients of all parts into the first part's, and returns the mean loss.
  double sum_gradients() {
    std::vector<nn::Sums> sums(settings_.threads);
    on_threads([&](std::uint32_t i) { sums[i] = parts_[i].train(parameters_); });
    on_threads([&](std::uint32_t i) {
      const Interval floats = share(i);
      for (std::size_t other = 1; other < parts_.size(); ++other) {
        for (std::uint64_t at = floats.begin; at < floats.end; ++at) {
          parts_[0].gradient()[at] += parts_[other].gradient()[at];
        }
      }
    });
    nn::Sums all;
    for (const nn::Sums& it : sums) all += it;
    return all.loss / settings_.batch;
  }

  void update(Interval floats) {
    for (const Range& range : layout_.ranges) {
      const std::uint64_t begin = std::max(floats.begin, range.begin), end = std::min(floats.end, range.end);
      if (begin >= end) continue;
      const auto cut = [&](std::span<float> all) { return all.subspan(begin, end - begin); };
      const nn::Update it{cut(next_), cut(parameters_), cut(parts_[0].gradient()), 1.0 / settings_.batch};
      if (range.rule == Rule::ema) {
        nn::ema_step(it, range.keep);
      } else {
        nn::step({nn::Optimizer::Kind::momentum, 0.9, 1e-4}, it, cut(state_), settings_.rate, range.decay);
      }
    }
  }

  [[nodiscard]] Interval share(std::uint32_t thread) const {
    return {next_.size() * thread / settings_.threads, next_.size() * (thread + 1) / settings_.threads};
  }

  const Settings settings_;
  const Batch batch_;
  const nn::Model model_;
  const Layout layout_;
  std::vector<float> parameters_, next_, state_;
  std::vector<Part> parts_;
};

std::string answer(Trainer& trainer, const std::string& command, const std::string& argument) {
  if (command == "about") return trainer.about();
  if (command == "losses") return trainer.losses(std::stoi(argument));
  if (command == "measure") return std::to_string(trainer.rate(std::stod(argument)));
  if (command == "peak") return std::to_string(bench::fma_gigaflops(std::stod(argument)));
  if (command == "memory") return trainer.peak_memory();
  if (command != "save") refuse("unknown command \"" + command + "\"");
  trainer.save(argument);
  return argument;
}

}  // namespace

int main(int argc, char** argv) try {
  Trainer trainer(read_settings(argc, argv));
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, argument;
    words >> command >> argument;
    std::cout << command << ' ' << answer(trainer, command, argument) << std::endl;
  }
} catch (const std::exception& trouble) {
  std::fprintf(stderr, "steelyard_step: %s\n", trouble.what());
  return 1;
}
