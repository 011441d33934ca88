#include "app/config/scenario_training.h"

#include "app/config/choices.h"
#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "protocol/sync_limits.h"
#include "sim/training/real_training.h"
#include "worker/data/first_samples.h"

namespace steelyard {
namespace {

// Rejects keys of a training in a scenario without one.
void refuse_keys(ScenarioDraft& draft, const TomlSection& section, const TomlSection& model,
                 const TomlSection& data) {
  for (const Key& key : simulated_training_keys(draft)) {
    section.demand(!section.given(key.name), key.name,
                   steelyard::toml_quoted(key.name) +
                       " in [job] is valid only with train = true: add that, or leave it out");
  }
  const char* what =
      "[model] and [data] are valid only with train = true in [job]: add that, or leave them out";
  model.demand(!model.given("grain"), "grain", what);
  for (const auto& [name, value] : draft.job.model_options) model.demand(false, name, what);
  for (const auto& [name, value] : draft.job.data_options) data.demand(false, name, what);
}

// The first samples_per_epoch samples of `all`; all of them if the key is not given.
std::shared_ptr<const DataSet> part_of(std::shared_ptr<const DataSet> all, const ScenarioDraft& draft,
                                       const TomlSection& section) {
  if (!section.given("samples_per_epoch")) return all;
  const std::uint64_t wanted = draft.scenario.samples_per_epoch, there = all->size();
  const auto demand = [&](bool holds, const std::string& what) {
    section.demand(holds, "samples_per_epoch", "samples_per_epoch = " + std::to_string(wanted) + ": " + what);
  };
  demand(wanted <= there, "data set " + steelyard::toml_quoted(draft.job.data) + " has only " +
                              std::to_string(there) +
                              " training samples: give no more than that, or leave it out to use all");
  demand(wanted >= draft.job.global_batch, "with train = true, give at least one round, global_batch = " +
                                               std::to_string(draft.job.global_batch));
  if (wanted == there) return all;
  return std::make_shared<FirstSamples>(std::move(all), wanted);
}

}  // namespace

void make_training(ScenarioDraft& draft, const TomlSection& section, const TomlSection& model,
                   const TomlSection& data) {
  sim::Scenario& scenario = draft.scenario;
  Job& job = draft.job;
  if (!draft.train) return refuse_keys(draft, section, model, data);
  const auto found_in = [&](const TomlSection& options, const char* key,
                            const std::optional<OptionTrouble>& trouble) {
    (trouble && !trouble->option.empty() ? options : section).demand_none(trouble, key);
  };
  found_in(model, "model", model_trouble(job.model, job.model_options));
  found_in(data, "data", data_trouble(job.data, job.data_options));
  draft.training.put_into(job);
  const SyncMode mode = parse_sync(scenario.sync);
  section.demand_none(optimizer_trouble(draft.training.optimizer, job.optimizer, mode), "optimizer");
  section.demand_none(outer_trouble(job, mode), "outer_rate");
  section.demand_none(schedule_trouble(job.schedule), "schedule");
  job.seed = scenario.seed;
  job.global_batch = scenario.global_batch;
  job.epochs = scenario.epochs;
  job.rounds = scenario.rounds;
  if (job.epochs > 0) job.schedule.epochs = static_cast<double>(job.epochs);
  Workload workload = workload_of(job);
  const ModelDescription description = described(workload);
  section.demand(
      !section.given("grain"), "grain",
      "grain in [job]: with train = true the model sets it: leave it out, or give grain in [model]");
  scenario.grain = description.grain;
  workload.data.train = part_of(workload.data.train, draft, section);
  set_samples(job, workload.data.train->size(), workload.data.test->size());

  auto training = std::make_shared<sim::RealTraining>(std::move(workload));
  training->model_name = job.model;
  training->labels = description.labels;
  training->data_name = job.data;
  training->optimizer = job.optimizer;
  training->outer_rate = job.outer_rate;
  training->outer_momentum = job.outer_momentum;
  training->schedule = job.schedule;
  training->clip_norm = job.clip_norm;
  training->evaluate_every = job.evaluate_every;
  scenario.samples_per_epoch = job.train_samples;
  scenario.target_accuracy = job.target_accuracy;
  scenario.training = std::move(training);
}

}  // namespace steelyard
