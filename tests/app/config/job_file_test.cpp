#include "app/config/job_file.h"

#include <gmock/gmock.h>

#include <map>

#include "app/config/job_keys.h"
#include "app/config/schema.h"
#include "core/error.h"
#include "core/text.h"
#include "protocol/sync_mode.h"
#include "tests/support/own_registry.h"
#include "tests/support/temporary_folder.h"
#include "worker/compute/throttle.h"

namespace steelyard::job_file_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

const std::string one_worker = "[[worker]]\n";

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {},
                    ExitCode code = ExitCode::configuration) {
  try {
    parse_job(text, "j.toml", overrides);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "accepted";
}

TEST(JobFile, ServersBesideGpusHaveMoreShards) {
  const auto shards = [](const std::string& cluster, const std::string& device) {
    return parse_job(
        "[cluster]\nservers = 2\n" + cluster + "[[worker]]\n[[worker]]\ndevice = \"" + device + "\"\n",
        "j.toml");
  };
  EXPECT_EQ(shards("", "cuda:0-1").job.shards, 8U);
  EXPECT_EQ(shards("", "cpu").job.shards, 2U);
  EXPECT_EQ(shards("", "auto").job.shards, 2U) << "it may be a processor";
  const JobFile given = shards("shards_per_server = 1\n", "cuda:0");
  EXPECT_EQ(given.job.shards, 2U);
  EXPECT_EQ(parse_job(given.resolved, "resolved").job.shards, 2U);
  WorkerSpec worker;
  worker.name = "ada";
  worker.device = "cuda:0";
  const ClusterSpec hosts{3, {worker}};
  const JobFile placed = parse_job("[job]\nname = \"small\"\n", "j.toml", {}, &hosts);
  EXPECT_EQ(placed.job.shards, 3U) << "a hosts file says how many";
  EXPECT_EQ(parse_job(placed.resolved, "resolved").job.shards, 3U);
}

TEST(JobFile, AJobWithoutANameIsNamedAfterItsFile) {
  const auto name_in = [](const std::string& file, const std::string& more = "") {
    return parse_job(more + std::string(one_worker), file).job.name;
  };
  EXPECT_EQ(name_in("jobs/digits.toml"), "digits");
  EXPECT_EQ(name_in("digits.toml", "[job]\nname = \"own\"\n"), "own");
  EXPECT_EQ(name_in("my job: 2.toml"), "my-job--2");
  EXPECT_EQ(name_in("-x.toml"), "_x");
  EXPECT_EQ(name_in(std::string(100, 'a') + ".toml"), std::string(64, 'a'));
  for (const char* other : {"/dev/stdin", "job", ""}) EXPECT_EQ(name_in(other), "job") << other;
  EXPECT_EQ(parse_job(one_worker, "a.toml", {"job.name=set"}).job.name, "set");
}

TEST(JobFile, TheSmallestJobHasDefaults) {
  const JobFile file = parse_job(one_worker, "j.toml");
  EXPECT_EQ(file.job.name, "j") << "of the file";
  EXPECT_EQ(file.job.model, "lenet5");
  EXPECT_EQ(file.job.global_batch, 512U);
  EXPECT_EQ(file.job.epochs, 10U);
  EXPECT_EQ(file.job.schedule.epochs, 10);
  EXPECT_EQ(file.job.optimizer.kind, nn::Optimizer::Kind::momentum);
  EXPECT_EQ(file.job.policy, "steelyard");
  EXPECT_EQ(file.job.workers, 1U);
  EXPECT_EQ(file.servers, 2U);
  EXPECT_EQ(file.job.shards, 2U);
  ASSERT_EQ(file.worker_specs.size(), 1U);
  EXPECT_EQ(file.worker_specs[0].name, "worker-0");
  EXPECT_EQ(file.worker_specs[0].simulate_slowdown, "1");
}

TEST(JobFile, KeysSetTheMembersOfTheSameName) {
  const auto no_data = [](const Options&) { return DataSets{}; };
  const OwnRegistry own({.data_sets = {{"synthetic",
                                        no_data,
                                        "",
                                        {text_option("dir", "", ""), text_option("noise", "", ""),
                                         text_option("train", "", "")}}}});
  const JobFile file = parse_job(R"(
[job]
name = "all"
seed = 9223372036854775807
[model]
name = "mlp"
dropout = 0.5
[data]
name = "synthetic"
train = 1000
noise = 0.25
dir = "/a \"b\""
[train]
batch = 64
epochs = 7
rounds = 900
seconds = 30.5
target_accuracy = 0.75
optimizer = "nesterov"
momentum = 0.8
weight_decay = 1e-4
lr = 1
schedule = "step"
warmup = 0.1
step_epochs = 2.5
step_factor = 0.3
final_lr = 0.001
clip_norm = 4
evaluate_every = 2
gradient_limit = 50
bad_gradient = "rest"
checkpoint_every = 0
[cluster]
servers = 3
shards_per_server = 2
replicas = 1
sync = "ssp:2"
sum_order = "arrival"
policy = "boa"
profile = true
profile_ms = "a: 5 0.5; b: 1 0.25 1e-3"
heartbeat = 0.25
heartbeat_timeout = 3
server_wait = 600
[policy.boa]
period = 5
gain = "0.05"
[policy.lbb]
guard = true
[[worker]]
name = "a"
simulate_slowdown = 2.5
simulate_cpu_share = "1, 0.4@10, again@20"
device = "auto"
max_batch = 128
background = true
[[worker]]
)",
                                 "j.toml");
  const Job& job = file.job;
  EXPECT_EQ(job.name, "all");
  EXPECT_EQ(job.seed, 9223372036854775807ULL);
  EXPECT_EQ(job.model, "mlp");
  EXPECT_THAT(job.model_options, ElementsAre(Pair("dropout", "0.5")));
  EXPECT_EQ(job.data, "synthetic");
  EXPECT_THAT(job.data_options,
              ElementsAre(Pair("dir", "/a \"b\""), Pair("noise", "0.25"), Pair("train", "1000")));
  EXPECT_EQ(job.global_batch, 64U);
  EXPECT_EQ(job.epochs, 7U);
  EXPECT_EQ(job.rounds, 900U);
  EXPECT_EQ(job.seconds, 30.5);
  EXPECT_EQ(job.target_accuracy, 0.75);
  EXPECT_EQ(job.optimizer.kind, nn::Optimizer::Kind::nesterov);
  EXPECT_EQ(job.optimizer.momentum, 0.8);
  EXPECT_EQ(job.optimizer.weight_decay, 1e-4);
  EXPECT_EQ(job.schedule.kind, nn::Schedule::Kind::step);
  EXPECT_EQ(job.schedule.base, 1);
  EXPECT_EQ(job.schedule.warmup, 0.1);
  EXPECT_EQ(job.schedule.epochs, 7);
  EXPECT_EQ(job.schedule.step_epochs, 2.5);
  EXPECT_EQ(job.schedule.step_factor, 0.3);
  EXPECT_EQ(job.schedule.final, 0.001);
  EXPECT_EQ(job.clip_norm, 4);
  EXPECT_EQ(job.evaluate_every, 2U);
  EXPECT_EQ(job.gradient_limit, 50);
  EXPECT_EQ(job.bad_gradient, BadGradient::rest);
  EXPECT_EQ(job.checkpoint_every, 0U);
  EXPECT_EQ(file.servers, 3U);
  EXPECT_EQ(job.shards, 6U);
  EXPECT_EQ(job.replicas, 1U);
  EXPECT_EQ(job.policy, "boa");
  EXPECT_THAT(job.policy_options, ElementsAre(Pair("gain", "0.05"), Pair("period", "5")));
  EXPECT_TRUE(job.profile);
  ASSERT_EQ(job.curves.size(), 2U);
  EXPECT_EQ(job.curves[1].name, "b");
  EXPECT_THAT(job.curves[1].terms, ElementsAre(0.001, 0.00025, 1e-6, 0));
  EXPECT_EQ(job.heartbeat, 0.25);
  EXPECT_EQ(job.heartbeat_timeout, 3);
  EXPECT_EQ(job.server_wait, 600);
  EXPECT_EQ(job.workers, 2U);
  const WorkerSpec& a = file.worker_specs.at(0);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.simulate_slowdown, "2.5");
  EXPECT_EQ(a.simulate_cpu_share, "1, 0.4@10, again@20");
  EXPECT_EQ(a.device, "auto");
  EXPECT_EQ(a.max_batch, 128U);
  EXPECT_TRUE(a.background);
  EXPECT_FALSE(file.worker_specs.at(1).background);
  EXPECT_EQ(file.worker_specs.at(1).name, "worker-1");

  const JobFile again = parse_job(file.resolved, "resolved");
  EXPECT_EQ(again.resolved, file.resolved);
  EXPECT_EQ(again.job.seed, job.seed);
  EXPECT_EQ(again.job.data_options, job.data_options);
  EXPECT_EQ(again.job.policy_options, job.policy_options);
  EXPECT_EQ(again.job.schedule.warmup, job.schedule.warmup);
  EXPECT_EQ(again.job.shards, job.shards);
  EXPECT_EQ(again.worker_specs.at(0).simulate_slowdown, "2.5");
  EXPECT_EQ(again.worker_specs.at(0).simulate_cpu_share, a.simulate_cpu_share);
}

// A resolved job in which every key of the schema has its default, except those given.
std::string resolved_with(const std::map<std::string, std::string>& given) {
  JobDraft draft;
  draft.worker.name = "worker-0";
  std::string text;
  for (const Section& section : schema_of(draft).sections) {
    if (section.kind == Section::Kind::named || section.name == "model.layer") continue;
    text += "\n" + section.title() + "\n";
    for (const Key& key : section.keys) {
      const auto found = given.find(section.name + "." + key.name);
      const std::string value = found != given.end() ? found->second : value_text(key);
      if (!key.name.empty() && !value.empty() && value != "\"\"") text += key.name + " = " + value + "\n";
    }
  }
  return text;
}

TEST(JobFile, TheResolvedTextOfASmallJobHasAllDefaults) {
  const JobFile file = parse_job("train.rounds = 7\ncluster.policy = 'equal'\n[[worker]]\n", "j.toml");
  const std::string defaults = resolved_with(
      {{"job.name", "\"j\""}, {"train.rounds", "7"}, {"train.epochs", "0"}, {"cluster.policy", "\"equal\""}});
  EXPECT_THAT(defaults, HasSubstr("\n[train]\nbatch = 512\nepochs = 0\nrounds = 7\nseconds = 0\n"));
  EXPECT_EQ(file.resolved, "# The job with all defaults; steelyard train can run it again.\n" + defaults);
  EXPECT_EQ(parse_job(file.resolved, "again").resolved, file.resolved);
}

// A value other than the default, in the form of --set; empty if the table does not determine one.
std::string another_value(const Key& key) {
  const Limits& limits = key.limits;
  return std::visit(
      [&]<class Value>(const Value* value) -> std::string {
        if constexpr (std::is_same_v<Value, bool>) return *value ? "false" : "true";
        if constexpr (std::is_same_v<Value, std::string>) {
          for (const std::string& choice : limits.choices)
            if (choice != *value) return toml_quoted(choice);
          return limits.may_be_number && limits.accepts("2") ? "2" : "";
        }
        if constexpr (std::is_arithmetic_v<Value>) {
          const auto next = static_cast<double>(*value) + 1, half = static_cast<double>(*value) / 2;
          if (limits.allow(next)) return number_text(next);
          return limits.allow(half) && half != static_cast<double>(*value) ? number_text(half) : "0.5";
        }
        return "";
      },
      key.field);
}

// Every key of the table is read and written back. Some need other keys as well; the tests of their rules
// cover them.
TEST(JobFile, EveryKeyOfTheTableIsRead) {
  JobDraft draft;
  std::vector<std::string> refused;
  for (const Section& section : schema_of(draft).sections) {
    for (const Key& key : section.keys) {
      const std::string value = key.name.empty() ? "" : another_value(key);
      if (value.empty() || section.name == "model.layer") continue;  // job_layers_test.cpp
      const std::string place = section.name + (section.kind == Section::Kind::list ? ".worker-0." : ".");
      try {
        const JobFile file = parse_job(one_worker, "j.toml", {place + key.name + "=" + value});
        EXPECT_THAT(file.resolved, HasSubstr("\n" + key.name + " = " + value + "\n"));
        EXPECT_THAT(file.notices, IsEmpty());
      } catch (const Failure& failure) {
        refused.push_back(key.name);
      }
    }
  }
  EXPECT_THAT(refused,
              testing::IsSubsetOf({"outer_rate", "outer_momentum", "heartbeat", "reproducible", "schedule"}));
}

TEST(JobFile, SetOverridesTheFile) {
  const std::string text =
      "[train]\nlr = 0.5\n[policy.boa]\nperiod = 1\n[[worker]]\n[[worker]]\nname = \"b\"\n";
  const JobFile file =
      parse_job(text, "j.toml",
                {"train.lr=0.25", "cluster.policy=boa", "policy.boa.period=9", "data.dir=/x=y",
                 "worker.b.simulate_slowdown=3, 4@1", "worker.worker-0.max_batch=64"});
  EXPECT_EQ(file.job.schedule.base, 0.25);
  EXPECT_EQ(file.job.policy, "boa");
  EXPECT_THAT(file.job.policy_options, ElementsAre(Pair("period", "9")));
  EXPECT_THAT(file.job.data_options, ElementsAre(Pair("dir", "/x=y")));
  EXPECT_EQ(file.worker_specs[0].max_batch, 64U);
  EXPECT_EQ(file.worker_specs[1].simulate_slowdown, "3, 4@1");
}

TEST(JobFile, GoldenUnknownNames) {
  EXPECT_EQ(refusal("[train]\n  bacth = 3\n" + one_worker),
            "j.toml:2:3: unknown key \"bacth\" in [train]; did you mean \"batch\"? (valid: batch, "
            "epochs, rounds, seconds, target_accuracy, optimizer, momentum, beta1, beta2, epsilon, trust, "
            "weight_decay, outer_rate, outer_momentum, lr, schedule, warmup, step_epochs, step_factor, "
            "final_lr, rates, clip_norm, evaluate_every, gradient_limit, bad_gradient, checkpoint_every, "
            "checkpoint_rounds, checkpoint_minutes)");
  EXPECT_EQ(refusal("[cluster]\nzzz = 3\n" + one_worker),
            "j.toml:2:1: unknown key \"zzz\" in [cluster] (valid: servers, shards_per_server, replicas, "
            "bind_workers, sync, sum_order, reproducible, push_encoding, pull_encoding, policy, profile, "
            "profile_ms, heartbeat, heartbeat_timeout, server_wait)");
  EXPECT_EQ(refusal("[tran]\nlr = 1\n" + one_worker),
            "j.toml:1:2: unknown section [tran]; did you mean \"train\"? (valid: job, model, data, "
            "train, cluster, policy, worker)");
  EXPECT_EQ(refusal("lr = 1\n" + one_worker), "j.toml:1:1: unknown key \"lr\"; put it under [train]");
  EXPECT_EQ(refusal("[[worker]]\nname = \"a\"\ntreads = 2\n"),
            "j.toml:3:1: unknown key \"treads\" in [[worker]]; did you mean \"threads\"? (valid: name, "
            "simulate_slowdown, simulate_cpu_share, device, max_batch, threads, background, precision, "
            "recompute)");
}

TEST(JobFile, FormerNamesAreStillReadWithANotice) {
  const JobFile file = parse_job(
      "[train]\nbad_gradient = \"again\"\n[cluster]\nsums = \"ordered\"\npush = \"int8\"\n[[worker]]\nslow = "
      "2\n",
      "j.toml", {"cluster.dead_after=33", "worker.worker-0.polite=true"});
  EXPECT_EQ(file.job.sum_order, SumOrder::positions);
  EXPECT_EQ(file.job.push_encoding, FloatCode::int8);
  EXPECT_EQ(file.job.heartbeat_timeout, 33);
  EXPECT_EQ(file.job.bad_gradient, BadGradient::recompute);
  EXPECT_EQ(file.worker_specs.at(0).simulate_slowdown, "2");
  EXPECT_TRUE(file.worker_specs.at(0).background);
  EXPECT_THAT(file.notices,
              UnorderedElementsAre(HasSubstr("j.toml: sums in [cluster] is now called sum_order"),
                                   HasSubstr("push_encoding"), HasSubstr("heartbeat_timeout"),
                                   HasSubstr("slow in [[worker]] is now called simulate_slowdown"),
                                   HasSubstr("background")));
  const JobFile again = parse_job(file.resolved, "resolved");
  EXPECT_THAT(again.notices, IsEmpty());
  EXPECT_EQ(again.resolved, file.resolved);
}

TEST(JobFile, AFormerNameBesideThePresentOneIsRefused) {
  EXPECT_EQ(refusal("[cluster]\nsums = \"ordered\"\nsum_order = \"arrival\"\n" + one_worker),
            "j.toml:2:1: sums in [cluster] is now called sum_order, and both are given: leave one out");
  EXPECT_THAT(refusal(one_worker, {"worker.worker-0.slow=fast"}),
              HasSubstr("--set worker.worker-0.slow=fast: simulate_slowdown = \"fast\" in [[worker]]: give"));
}

TEST(JobFile, GoldenValues) {
  EXPECT_EQ(refusal("[train]\nbatch = 0\n" + one_worker),
            "j.toml:2:9: batch = 0 in [train]: give a whole number from 1 to 1000000000");
  EXPECT_EQ(refusal("[train]\nbatch = \"many\"\n" + one_worker),
            "j.toml:2:9: batch = \"many\" in [train]: give a whole number from 1 to 1000000000");
  EXPECT_EQ(refusal("[train]\nbatch = 2.5\n" + one_worker),
            "j.toml:2:9: batch = 2.5 in [train]: give a whole number from 1 to 1000000000");
  EXPECT_EQ(refusal("[train]\nmomentum = 1\n" + one_worker),
            "j.toml:2:12: momentum = 1 in [train]: give a number of at least 0 and below 1");
  EXPECT_EQ(refusal("[train]\nlr = nan\n" + one_worker),
            "j.toml:2:6: lr = nan in [train]: give a number above 0");
  EXPECT_EQ(refusal("[train]\nlr = [1]\n" + one_worker),
            "j.toml:2:6: lr = a list in [train]: give a number above 0");
  EXPECT_EQ(refusal("[train]\nweight_decay = -1e-3\n" + one_worker),
            "j.toml:2:16: weight_decay = -0.001 in [train]: give a number of at least 0");
  EXPECT_EQ(refusal("[cluster]\nsync = \"ssp\"\n" + one_worker),
            "j.toml:2:8: sync = \"ssp\" in [cluster]: give one of " + sync_choices());
  EXPECT_THAT(refusal("[train]\nrounds = 5\n[cluster]\nsync = \"oneshot:end\"\n" + one_worker),
              HasSubstr("give [train] epochs"));
  EXPECT_THAT(refusal("[cluster]\nsync = \"asp\"\nsum_order = \"ordered\"\n" + one_worker),
              HasSubstr("no order to keep"));
  EXPECT_EQ(refusal("[job]\nname = \"../up\"\n" + one_worker),
            "j.toml:2:8: name = \"../up\" in [job]: give a name of at most 64 letters, digits, '.', '_' and "
            "'-' that begins with a letter, digit or '_'");
  EXPECT_EQ(refusal("[model]\ndropout = \"much\"\n" + one_worker),
            "j.toml:2:11: model 'lenet5', option dropout = 'much': give a number of at least 0 and below 1");
  EXPECT_EQ(refusal("[policy.boa]\nx = [[1]]\n" + one_worker),
            "j.toml:2:5: x = a list in [policy.boa]: an option has a plain name and is a text, a number, "
            "true, false or a list of texts or numbers");
}

TEST(JobFile, GoldenShapes) {
  EXPECT_EQ(refusal("[job]\nseed = 1\n"),
            "j.toml: no worker: write [[worker]] once for each, on a line of its own");
  EXPECT_EQ(refusal("train = 3\n" + one_worker),
            "j.toml:1:1: \"train\" must be a section: write [train] on a line of its own");
  EXPECT_EQ(refusal("[worker]\nsimulate_slowdown = 2\n"),
            "j.toml:1:2: \"worker\" must be a section: write [[worker]] once for each, on a line of its own");
  EXPECT_EQ(refusal("[policy]\nboa = 2\n" + one_worker),
            "j.toml:2:1: \"boa\" in [policy] must be a section: write [policy.<policy>] above it");
  EXPECT_EQ(refusal("[[worker]]\nname = \"a\"\n[[worker]]\nname = \"a\"\n"),
            "j.toml:3:1: two workers are named \"a\": give each its own name in [[worker]]");
  EXPECT_THAT(refusal("[[worker]]\nname = \"worker-1\"\n[[worker]]\n"),
              HasSubstr("two workers are named \"worker-1\""));
  EXPECT_THAT(refusal("[train]\nlr = = 2\n"), StartsWith("j.toml:2:6: this is not TOML; correct it: "));
  EXPECT_THAT(refusal("[train]\nlr = 1\nlr = 2\n"), StartsWith("j.toml:3:"));
  EXPECT_EQ(
      refusal("[worker]\nname = \"a\"\n[worker]\nname = \"b\"\n"),
      "j.toml:3:1: [worker] is here a second time: write [[worker]] with two brackets for each if there "
      "are several, or join the two sections");
  EXPECT_EQ(refusal("[[worker]]\nname = \"a\"\n[worker]\nname = \"b\"\n"),
            "j.toml:3:1: there are [[worker]] above: write [[worker]] with two brackets here, too");
}

TEST(JobFile, GoldenRulesBetweenKeys) {
  EXPECT_EQ(refusal("[train]\nepochs = 0\n" + one_worker),
            "j.toml:2:10: training would never end: give [train] epochs, rounds or seconds above 0");
  EXPECT_EQ(refusal("[train]\nseconds = 9\nschedule = \"cosine\"\n" + one_worker),
            "j.toml:3:12: a warm-up or a changing learning rate needs the length of the training: give "
            "[train] epochs or rounds beside seconds");
  EXPECT_THAT(refusal("[train]\nseconds = 9\nwarmup = 0.1\n" + one_worker),
              StartsWith("j.toml:3:10: a warm-up"));
  EXPECT_EQ(refusal("[cluster]\nheartbeat = 5\nheartbeat_timeout = 10\n" + one_worker),
            "j.toml:3:21: heartbeat_timeout = 10 in [cluster]: give more than two heartbeats, above 10");
  EXPECT_EQ(refusal("[cluster]\nservers = 1\nreplicas = 1\n" + one_worker),
            "j.toml:3:12: replicas = 1 in [cluster]: a mirror must be in another server than its shard, and "
            "there is only one server: give servers = 2 or more, or leave replicas out");
}

TEST(JobFile, GoldenSet) {
  EXPECT_EQ(refusal(one_worker, {"train.lr=-1"}),
            "--set train.lr=-1: lr = -1 in [train]: give a number above 0");
  EXPECT_THAT(refusal(one_worker, {"train.rl=1"}),
              StartsWith("--set train.rl=1: unknown key \"rl\" in [train]; did you mean \"lr\"?"));
  EXPECT_EQ(
      refusal(one_worker, {"worker.worker-0.simulate_slowdown=fast"}),
      "--set worker.worker-0.simulate_slowdown=fast: simulate_slowdown = \"fast\" in [[worker]]: give " +
          Throttle::slow_expected());
  EXPECT_EQ(refusal(one_worker, {"train.lr"}, ExitCode::usage),
            "--set train.lr: give it as section.key=value");
  EXPECT_EQ(refusal(one_worker, {"lr=1"}, ExitCode::usage),
            "--set lr=1: give it as section.key=value, policy.<policy>.<option>=value or "
            "worker.<name>.<key>=value");
  EXPECT_EQ(refusal(one_worker, {"worker.worker_1.simulate_slowdown=2"}, ExitCode::usage),
            "--set worker.worker_1.simulate_slowdown=2: no worker in j.toml is named \"worker_1\"; did you "
            "mean \"worker-0\"? "
            "(valid: worker-0)");
  // A value cannot smuggle in other keys.
  EXPECT_THAT(refusal(one_worker, {"train.lr=1\nseconds = 3"}), HasSubstr("give a number above 0"));
}

TEST(JobFile, UnreadableFilesAreReported) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path("no-such.toml"), folder.path().string()}) {
    try {
      read_job_file(path);
      ADD_FAILURE() << "it was read";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      EXPECT_THAT(failure.what(),
                  AllOf(StartsWith(path + ": cannot be read"), HasSubstr("examples/jobs/quick.toml")));
    }
  }
  EXPECT_THROW(read_job_file(folder.write("large.toml", std::string(2 << 20, '#'))), Failure);
}

TEST(JobFile, TheHelpNamesEveryKeyOfTheResolvedText) {
  JobDraft draft;
  const std::string help = describe(schema_of(draft));
  std::stringstream lines(parse_job("[[worker]]\n", "j").resolved);
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find(" ="));
    if (key.empty() || key[0] == '#') continue;
    EXPECT_THAT(help, HasSubstr(key));
  }
  EXPECT_THAT(help, HasSubstr("a number of at least 0 and below 1"));
  EXPECT_THAT(help, EndsWith("\n"));
}

TEST(JobFile, CurvesOfWorkersAreChecked) {
  const auto curves = [](const std::string& text) {
    return refusal("[cluster]\nprofile_ms = \"" + text + "\"\n" + one_worker);
  };
  EXPECT_EQ(curves("a: 5 0.5; b: 1"), "accepted");
  EXPECT_THAT(curves(""), HasSubstr("give curves, as in"));
  EXPECT_THAT(curves("5 0.5"), AllOf(HasSubstr("j.toml:2:"), HasSubstr("a curve has no name")));
  EXPECT_THAT(curves("a: 5 fast"), AllOf(HasSubstr("j.toml:2:"), HasSubstr("one to four numbers in ms")));
  EXPECT_THAT(curves("a: 1; a: 2"), HasSubstr("'a' is listed twice"));
  EXPECT_THAT(curves("a: -1"), HasSubstr("is not a compute time"));
}

}  // namespace
}  // namespace steelyard::job_file_test
