// train = true: the keys of a job file, in a scenario.
#include "app/config/scenario_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/scenario_file.h"
#include "core/error.h"
#include "sim/simulation.h"
#include "sim/world.h"
#include "tests/support/own_registry.h"

namespace steelyard::scenario_training_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char worker[] = "[[worker]]\nsamples_per_s = 1600\n";

constexpr char trained[] = R"([job]
train = true
model = "mlp"
data = "synthetic"
global_batch = 100
epochs = 3
seed = 4
optimizer = "nesterov"
momentum = 0.8
weight_decay = 0.001
lr = 0.05
schedule = "cosine"
warmup = 0.1
final_lr = 0.002
clip_norm = 2
evaluate_every = 2
target_accuracy = 0.99
[model]
dropout = 0.25
[data]
train = 350
test = 50
noise = 0.5
[[worker]]
samples_per_s = 1600
)";

TEST(ScenarioTraining, EveryKeyIsRead) {
  const sim::Scenario scenario = parse_scenario(trained, "trained.toml");
  EXPECT_EQ(scenario.samples_per_epoch, 350U) << "the size of the data set";
  EXPECT_EQ(sim::count_rounds(scenario), 12U);
  EXPECT_EQ(scenario.target_accuracy, 0.99);
  const Job job = sim::job_of(scenario, false, true);
  EXPECT_EQ(job.model, "mlp");
  EXPECT_EQ(job.data, "synthetic");
  EXPECT_EQ(job.seed, 4U);
  EXPECT_EQ(job.train_samples, 350U);
  EXPECT_EQ(job.test_samples, 50U);
  EXPECT_EQ(job.optimizer.kind, nn::Optimizer::Kind::nesterov);
  EXPECT_EQ(job.optimizer.momentum, 0.8);
  EXPECT_EQ(job.optimizer.weight_decay, 0.001);
  EXPECT_EQ(job.schedule.kind, nn::Schedule::Kind::cosine);
  EXPECT_EQ(job.schedule.base, 0.05);
  EXPECT_EQ(job.schedule.warmup, 0.1);
  EXPECT_EQ(job.schedule.final, 0.002);
  EXPECT_EQ(job.schedule.epochs, 3);
  EXPECT_EQ(job.clip_norm, 2);
  EXPECT_EQ(job.evaluate_every, 2U);
  EXPECT_EQ(job.target_accuracy, 0.99);
  EXPECT_GT(job.layout.size(), 100'000U);
}

TEST(ScenarioTraining, RoundsMayEndTrainingWithinAnEpoch) {
  const sim::Scenario scenario = parse_scenario(std::string(R"([job]
train = true
model = "softmax"
data = "synthetic"
global_batch = 100
rounds = 6
[data]
train = 350
test = 50
)") + worker,
                                                "a.toml");
  EXPECT_EQ(scenario.samples_per_epoch, 350U);
  EXPECT_NEAR(sim::job_of(scenario, false, true).schedule.epochs, 1 + 200.0 / 350, 1e-9);
  const sim::Result result = sim::simulate(scenario);
  EXPECT_EQ(result.rounds.size(), 6U);
  EXPECT_EQ(result.evaluations.size(), 2U) << "at the end of the epoch, and at the end";
}

TEST(ScenarioTraining, UserDataSetsAreFound) {
  const std::string text =
      std::string("[job]\ntrain = true\nmodel = \"softmax\"\ndata = \"ours\"\nglobal_batch = 32\n") + worker;
  EXPECT_THROW(parse_scenario(text, "a.toml"), Failure);
  const OwnRegistry own({.data_sets = {{"ours", [](const Options&) {
                                          return open_data("synthetic", {{"train", "64"}, {"test", "8"}});
                                        }}}});
  EXPECT_EQ(parse_scenario(text, "a.toml").samples_per_epoch, 64U);
}

// samples_per_epoch is a basic key of scenarios, and counts beside a training too.
TEST(ScenarioTraining, AnEpochMayBeAPartOfTheData) {
  const auto made = [](const std::string& samples) {
    return parse_scenario(
        "[job]\ntrain = true\nmodel = \"softmax\"\ndata = \"synthetic\"\nepochs = 2\n"
        "global_batch = 64\n" +
            samples + "[data]\ntrain = 350\ntest = 50\n" + worker,
        "part.toml");
  };
  const sim::Scenario part = made("samples_per_epoch = 200\n"), all = made("samples_per_epoch = 350\n");
  EXPECT_EQ(sim::count_rounds(part), 2 * 4U);
  EXPECT_EQ(sim::job_of(part, false, true).train_samples, 200U);
  const sim::Result result = sim::simulate(part);
  EXPECT_EQ(result.rounds.size(), 8U);
  EXPECT_EQ(result.rounds[3].shares[0], 200U % 64);
  EXPECT_EQ(sim::to_json(sim::simulate(all)), sim::to_json(sim::simulate(made("")))) << "the whole data set";
}

std::string trouble(const std::string& text) {
  try {
    parse_scenario(text + worker, "odd.toml");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return {};
}

TEST(ScenarioTraining, InvalidKeysAreRefused) {
  const std::string train = "[job]\ntrain = true\ndata = \"synthetic\"\nmodel = \"softmax\"\n";
  EXPECT_EQ(trouble(train), "");
  EXPECT_EQ(trouble("[job]\ntrain = false\n"), "");
  EXPECT_THAT(trouble("[job]\nlr = 0.1\n"), AllOf(HasSubstr("odd.toml:2"), HasSubstr("train = true")));
  EXPECT_THAT(trouble("[data]\ntrain = 100\n"), AllOf(HasSubstr("odd.toml:2"), HasSubstr("train = true")));
  EXPECT_THAT(trouble(train + "samples_per_epoch = 10001\n"),
              AllOf(HasSubstr("odd.toml:5:21"), HasSubstr("only 10000 training samples")));
  EXPECT_THAT(trouble(train + "samples_per_epoch = 100\n"),
              HasSubstr("at least one round, global_batch = 512"));
  EXPECT_THAT(trouble(train + "momentum = 1\n"), HasSubstr("below 1"));
  EXPECT_THAT(trouble(train + "lr = 0\n"), HasSubstr("lr = 0"));
  EXPECT_THAT(trouble(train + "optimizer = \"adm\"\n"), HasSubstr("nesterov"));
  EXPECT_THAT(trouble(train + "schedule = \"table\"\n"),
              AllOf(HasSubstr("odd.toml:5:12"), HasSubstr("no rates")));
  EXPECT_THAT(trouble(train + "optimizer = \"adam\"\nsync = \"local:2\"\n"),
              AllOf(HasSubstr("odd.toml:5:13"), HasSubstr("cannot be combined with sync = \"local:2\"")));
  EXPECT_THAT(trouble(train + "[model]\ndropout = \"much\"\n"),
              AllOf(HasSubstr("odd.toml:6"), HasSubstr("no option 'dropout'")));
  EXPECT_THAT(trouble(train + "[model]\nwings = 2\n"), HasSubstr("wings"));
  EXPECT_THAT(trouble(train + "[data]\nwings = 2\n"), HasSubstr("no option 'wings'"));
  EXPECT_THAT(trouble(train + "global_batch = 20000\n"), HasSubstr("has only 10000 training samples"));
  EXPECT_THAT(trouble("[job]\ntrain = true\ndata = \"synthtic\"\n"),
              HasSubstr("unknown data set 'synthtic'"));
  EXPECT_THAT(trouble("[job]\ntrian = true\n"), HasSubstr("did you mean \"train\"?"));
}

}  // namespace
}  // namespace steelyard::scenario_training_test
