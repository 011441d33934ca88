#include "config/scenario_training.h"

#include "config/choices.h"
#include "config/job_file.h"
#include "config/prepare_job.h"
#include "config/toml_text.h"
#include "core/text.h"
#include "sim/training/real_training.h"

namespace steelyard {
namespace {

constexpr double billion = 1e9;
constexpr const char* training_keys[] = {
    "model",    "data",      "optimizer",      "momentum",       "weight_decay",
    "lr",       "schedule",  "warmup",         "step_epochs",    "step_factor",
    "final_lr", "clip_norm", "evaluate_every", "target_accuracy"};

// A part of a data set, for a scenario whose epoch is shorter.
class FirstSamples final : public DataSet {
 public:
  FirstSamples(std::shared_ptr<const DataSet> all, std::uint64_t count)
      : all_(std::move(all)), count_(count) {}
  [[nodiscard]] std::uint64_t size() const override { return count_; }
  [[nodiscard]] nn::Shape shape() const override { return all_->shape(); }
  [[nodiscard]] std::uint32_t classes() const override { return all_->classes(); }
  void read(std::uint64_t index, float* into, std::uint32_t& label) const override {
    all_->read(index, into, label);
  }

 private:
  const std::shared_ptr<const DataSet> all_;
  const std::uint64_t count_;
};

// The keys of a job file's [train], with its names and ranges (steelyard help job).
void read_keys(TomlSection& section, Job& job) {
  std::string optimizer = "momentum", schedule = "constant";
  section.text("model", job.model);
  section.text("data", job.data);
  section.text("optimizer", optimizer, {"sgd", "momentum", "nesterov"});
  section.number("momentum", job.optimizer.momentum, 0, 1);
  section.number("weight_decay", job.optimizer.weight_decay, 0, billion);
  section.number("lr", job.schedule.base, 1e-12, billion);
  section.text("schedule", schedule, {"constant", "step", "cosine"});
  section.number("warmup", job.schedule.warmup, 0, 1);
  section.number("step_epochs", job.schedule.step_epochs, 1e-9, billion);
  section.number("step_factor", job.schedule.step_factor, 1e-9, billion);
  section.number("final_lr", job.schedule.final, 0, billion);
  section.number("clip_norm", job.clip_norm, 0, billion);
  section.whole("evaluate_every", job.evaluate_every, 0, billion);
  section.number("target_accuracy", job.target_accuracy, 0, 1);
  using Kind = nn::Optimizer::Kind;
  job.optimizer.kind = optimizer == "sgd"        ? Kind::sgd
                       : optimizer == "momentum" ? Kind::momentum
                                                 : Kind::nesterov;
  using Course = nn::Schedule::Kind;
  job.schedule.kind = schedule == "constant" ? Course::constant
                      : schedule == "step"   ? Course::step
                                             : Course::cosine;
  section.demand(job.optimizer.momentum < 1, "momentum", "momentum must be below 1");
  section.demand(job.schedule.warmup < 1, "warmup", "warmup must be below 1");
}

std::map<std::string, double> numbers_of(const TomlSection& model) {
  std::map<std::string, double> numbers;
  for (const auto& [key, text] : model.options()) {
    const auto value = number_in<double>(text);
    model.demand(value.has_value(), key.c_str(), key + " in [model]: an option of a model is a number");
    numbers[key] = *value;
  }
  return numbers;
}

// Names stand in [job], options in sections of their own.
void demand_choice(const TomlSection& job, const char* name, const TomlSection& options,
                   const std::optional<OptionTrouble>& trouble) {
  if (!trouble) return;
  if (trouble->option.empty()) job.demand(false, name, trouble->what);
  options.demand(false, trouble->option.c_str(), trouble->what);
}

}  // namespace

void read_training(TomlSection& section, const TomlSection& model, const TomlSection& data,
                   const Extensions& extensions, sim::Scenario& scenario) {
  bool train = false;
  section.flag("train", train);
  Job job;
  read_keys(section, job);
  if (!train) {
    for (const char* key : training_keys) {
      section.demand(
          !section.given(key), key,
          quoted(key) + " in [job] means something beside train = true only: add that, or leave it out");
    }
    for (const auto* options : {&model, &data}) {
      const auto given = options->options();
      if (given.empty()) continue;
      options->demand(false, given.begin()->first.c_str(),
                      "[model] and [data] mean something beside train = true in [job] only");
    }
    return;
  }
  job.model_options = numbers_of(model);
  job.data_options = data.options();
  demand_choice(section, "model", model, model_trouble(job.model, job.model_options, extensions));
  demand_choice(section, "data", data, data_trouble(job.data, job.data_options, extensions));
  job.seed = scenario.seed;
  job.global_batch = scenario.global_batch;
  job.epochs = scenario.epochs;
  job.rounds = scenario.rounds;
  if (job.epochs > 0) job.schedule.epochs = static_cast<double>(job.epochs);
  Workload workload = workload_of(job, extensions);
  std::uint64_t samples = workload.data.train->size();
  if (section.given("samples_per_epoch")) {
    const std::uint64_t wanted = scenario.samples_per_epoch;
    const auto demand = [&](bool holds, const std::string& what) {
      section.demand(holds, "samples_per_epoch",
                     "samples_per_epoch = " + std::to_string(wanted) + ": " + what);
    };
    demand(wanted <= samples, "data set " + steelyard::quoted(job.data) + " has only " +
                                  std::to_string(samples) +
                                  " training samples: give no more than that, or leave it out to use all");
    demand(wanted >= job.global_batch, "give at least one round, global_batch = " +
                                           std::to_string(job.global_batch) + ", beside train = true");
    if (wanted < samples)
      workload.data.train = std::make_shared<FirstSamples>(workload.data.train, samples = wanted);
  }
  set_samples(job, samples, workload.data.test->size());

  auto training = std::make_shared<sim::RealTraining>(std::move(workload));
  training->model_name = job.model;
  training->data_name = job.data;
  training->optimizer = job.optimizer;
  training->schedule = job.schedule;
  training->clip_norm = job.clip_norm;
  training->evaluate_every = job.evaluate_every;
  scenario.samples_per_epoch = job.train_samples;
  scenario.target_accuracy = job.target_accuracy;
  scenario.training = std::move(training);
}

}  // namespace steelyard
