#include "app/config/scenario_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "sim/simulation.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::scenario_file_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char smallest[] = "[[worker]]\nsamples_per_s = 1600\n";

// A scenario with all basic keys.
constexpr char contract[] = R"([job]
global_batch = 512
samples_per_epoch = 50000
epochs = 1
seed = 3
sync = "bsp"
policy = "lbb"
[policy.lbb]
rapid = 0.3
preset = "paper"
[network]
step_ms = 95
[[worker]]
name = "gtx1070-a"
kind = "gpu"
time_ms = [5.896, 0.59308]
max_batch = 1024
noise = 0.02
[[worker]]
samples_per_s = 1600
flat_ms = 25
[[event]]
worker = "gtx1070-a"
from_round = 25
to_round = 65
add_ms = 50
[[event]]
worker = "worker-1"
from_round = 30
scale = 2
cpu = 0.3
)";

TEST(ScenarioFile, ServersTakeTheTimeGiven) {
  EXPECT_EQ(parse_scenario(smallest, "s.toml").server_times.push_ms, 0);
  const sim::Scenario it =
      parse_scenario(std::string(smallest) + "[servers]\npush_ms = 86\nupdate_ms = 2.5\n", "s.toml");
  EXPECT_EQ(it.server_times.push_ms, 86);
  EXPECT_EQ(it.server_times.update_ms, 2.5);
}

TEST(ScenarioFile, BasicKeysAreRead) {
  const sim::Scenario it = parse_scenario(contract, "some/where/contract.toml");
  EXPECT_EQ(it.name, "contract");
  EXPECT_EQ(it.global_batch, 512U);
  EXPECT_EQ(it.samples_per_epoch, 50'000U);
  EXPECT_EQ(it.epochs, 1U);
  EXPECT_EQ(it.rounds, 0U);
  EXPECT_EQ(it.seed, 3U);
  EXPECT_EQ(it.readings, sim::Readings::barrier);
  EXPECT_EQ(it.policy, "lbb");
  EXPECT_EQ(it.policy_options.at("lbb"), (balancing::PolicyOptions{{"rapid", "0.3"}, {"preset", "paper"}}));
  EXPECT_EQ(it.network.step_ms, 95);
  ASSERT_EQ(it.workers.size(), 2U);
  EXPECT_EQ(it.workers[0].kind, DeviceKind::gpu);
  EXPECT_THAT(it.workers[0].time_ms, ElementsAre(5.896, 0.59308));
  EXPECT_EQ(it.workers[0].max_batch, 1024U);
  EXPECT_EQ(it.workers[0].noise, 0.02);
  EXPECT_EQ(it.workers[1].name, "worker-1");
  EXPECT_THAT(it.workers[1].time_ms, ElementsAre(0, 1000.0 / 1600));
  EXPECT_EQ(it.workers[0].flat_ms, 0);
  EXPECT_EQ(it.workers[1].flat_ms, 25);
  ASSERT_EQ(it.events.size(), 2U);
  EXPECT_EQ(it.events[0].worker, 0U);
  EXPECT_EQ(it.events[0].from, 25U);
  EXPECT_EQ(it.events[0].to, 65U);
  EXPECT_EQ(it.events[0].add_ms, 50);
  EXPECT_EQ(it.events[1].to, UINT64_MAX);
  EXPECT_EQ(it.events[1].scale, 2);
  EXPECT_EQ(it.events[1].cpu, 0.3);
}

TEST(ScenarioFile, FurtherKeysAreRead) {
  const sim::Scenario it = parse_scenario(R"([job]
rounds = 40
global_batch = 10
readings = "late"
[network]
latency_ms = 2
bandwidth_gbps = 10
model_mb = 44
servers = 3
heartbeat_s = 2
[[worker]]
name = "w"
count = 3
samples_per_s = 10
[[event]]
worker = "w-2"
from_round = 5
to_round = 20
kill = true
[[event]]
shape = "periodic"
period = 8
length = 4
network = 3
unforeseen = true
[[event]]
worker = "w-1"
shape = "random_walk"
deviation = 0.1
lowest = 0.5
highest = 2
)",
                                          "a.toml");
  EXPECT_EQ(it.epochs, 0U);
  EXPECT_EQ(it.samples_per_epoch, 400U) << "all rounds have the same length";
  EXPECT_EQ(it.readings, sim::Readings::late);
  EXPECT_EQ(it.network.latency_ms, 2);
  EXPECT_EQ(it.network.bandwidth_gbps, 10);
  EXPECT_EQ(it.network.model_mb, 44);
  EXPECT_EQ(it.servers, 3U);
  EXPECT_EQ(it.heartbeat_s, 2);
  ASSERT_EQ(it.workers.size(), 3U);
  EXPECT_EQ(it.workers[2].name, "w-2");
  EXPECT_TRUE(it.events[0].kill);
  EXPECT_FALSE(it.events[1].worker);
  EXPECT_EQ(it.events[1].shape, sim::Shape::periodic);
  EXPECT_EQ(it.events[1].period, 8U);
  EXPECT_EQ(it.events[1].length, 4U);
  EXPECT_EQ(it.events[1].network, 3);
  EXPECT_TRUE(it.events[1].unforeseen);
  EXPECT_EQ(it.events[2].deviation, 0.1);
  EXPECT_EQ(it.events[2].highest, 2);
}

std::string trouble(const std::string& text) {
  try {
    parse_scenario(text, "odd.toml");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return {};
}

TEST(ScenarioFile, UnknownKeysAreReportedWithPlaceAndNearestKey) {
  EXPECT_EQ(trouble(smallest), "");
  EXPECT_THAT(trouble("[job]\nglobal_bacth = 3\n"),
              AllOf(HasSubstr("odd.toml:2:1"), HasSubstr("\"global_bacth\""),
                    HasSubstr("did you mean \"global_batch\"?")));
  EXPECT_THAT(trouble("[network]\nsteps_ms = 3\n"), HasSubstr("did you mean \"step_ms\"?"));
  EXPECT_THAT(trouble("[[worker]]\nsamples_per_s = 3\nmaxbatch = 3\n"),
              HasSubstr("did you mean \"max_batch\"?"));
  EXPECT_THAT(trouble(std::string(smallest) + "[[event]]\nfromround = 3\n"),
              HasSubstr("did you mean \"from_round\"?"));
  EXPECT_THAT(trouble("to_round = 3\n"),
              HasSubstr("odd.toml:1:1: unknown key \"to_round\"; put it under [[event]]"));
  EXPECT_THAT(trouble("[cluster]\n"), HasSubstr("belongs to a job"));
  EXPECT_THAT(trouble("[jop]\n"), HasSubstr("did you mean \"job\"?"));
  EXPECT_THAT(trouble("[job]\npolicy = \"lbp\"\n"), HasSubstr("lbb"));
  EXPECT_THAT(trouble("[job]\nsync = \"ssp\"\n"), HasSubstr("give one of bsp"));
}

// [job] policy is steelyard in all of these.
TEST(ScenarioFile, OptionsOfUnusedPoliciesAreChecked) {
  const auto policy = [](const std::string& text) { return trouble(std::string(smallest) + text); };
  EXPECT_EQ(policy("[policy.lbb]\nrapid = 0.3\n[policy.oracle]\n"), "");
  EXPECT_THAT(policy("[policy.stilyard]\n"),
              AllOf(HasSubstr("odd.toml:3"), HasSubstr("did you mean \"steelyard\"?")));
  EXPECT_THAT(policy("[policy.lbb]\nstep = 2\nrapidd = 0.3\n"),
              AllOf(HasSubstr("odd.toml:5:10"), HasSubstr("no option 'rapidd'"), HasSubstr("rapid, step")));
  EXPECT_THAT(policy("[policy.boa]\ngain = \"much\"\n"),
              AllOf(HasSubstr("odd.toml:4:8"), HasSubstr("'much'")));
  EXPECT_THAT(policy("[policy.steelyard]\nboldness = 1\n"),
              AllOf(HasSubstr("odd.toml:4"), HasSubstr("least_gain")))
      << "errors of the chosen policy have a place too";
  EXPECT_THAT(policy("[policy.oracle]\nwisdom = 1\n"),
              AllOf(HasSubstr("odd.toml:4"), HasSubstr("no options")));
  EXPECT_THAT(policy("[policy]\nlbb = 3\n"), HasSubstr("must be a section"));
}

TEST(ScenarioFile, InvalidValuesAreRefusedWithValidOnes) {
  EXPECT_THAT(trouble("[job]\nglobal_batch = 0\n"), AllOf(HasSubstr("odd.toml:2:16"), HasSubstr("from 1")));
  EXPECT_THAT(trouble("[job]\nglobal_batch = 2.5\n"), HasSubstr("a whole number"));
  EXPECT_THAT(trouble("[network]\nstep_ms = \"3\"\n"), HasSubstr("a number from 0"));
  EXPECT_THAT(trouble("[[worker]]\nname = \"x\"\n"), HasSubstr("time_ms"));
  EXPECT_THAT(trouble("[[worker]]\ntime_ms = [1, 1]\nsamples_per_s = 3\n"), HasSubstr("give one of"));
  EXPECT_THAT(trouble("[[worker]]\ntime_ms = []\n"), HasSubstr("a list of"));
  EXPECT_THAT(trouble("[[worker]]\nsamples_per_s = 3\nname = \"a\\nb\"\n"),
              HasSubstr("give 1 to 64 letters"));
  EXPECT_THAT(trouble("[[worker]]\ntime_ms = [1, \"2\"]\n"), HasSubstr("numbers only"));
  EXPECT_THAT(trouble("[[worker]]\nsamples_per_s = 3\nkind = \"tpu\"\n"),
              HasSubstr("one of \"cpu\", \"gpu\""));
  EXPECT_THAT(trouble(std::string(smallest) + "name = \"x\"\n[[worker]]\nname = \"x\"\nsamples_per_s = 1\n"),
              HasSubstr("two workers"));
  EXPECT_THAT(trouble("worker = 3\n"), HasSubstr("[[worker]]"));
  EXPECT_THAT(trouble(""), AllOf(HasSubstr(".toml: "), HasSubstr("no worker")));
  EXPECT_THAT(trouble("[job\n"), HasSubstr("not TOML"));
}

TEST(ScenarioFile, EventsMayBeTimedInSeconds) {
  const sim::Scenario it = parse_scenario(R"([job]
global_batch = 30
rounds = 4
[network]
step_ms = 0
[[worker]]
time_ms = [0, 10]
[[event]]
scale = 2
from_s = 0.5
to_s = 0.8
)",
                                          "clock.toml");
  const sim::Event& event = it.events.at(0);
  EXPECT_TRUE(event.by_clock);
  EXPECT_EQ(event.from_s, 0.5);
  EXPECT_EQ(event.to_s, 0.8);
  std::vector<double> ms;
  for (const sim::RoundResult& round : sim::simulate(it).rounds) ms.push_back(round.round_ms);
  EXPECT_THAT(ms, testing::Pointwise(testing::DoubleNear(1e-3), {300.0, 300.0, 600.0, 300.0}))
      << "the third round begins during the event";
}

TEST(ScenarioFile, MeaninglessEventsAreRefused) {
  const auto event = [](const std::string& text) {
    return trouble(std::string(smallest) + "[[event]]\n" + text);
  };
  EXPECT_EQ(event("scale = 2\n"), "");
  EXPECT_THAT(event("from_round = 3\n"), HasSubstr("does nothing"));
  EXPECT_THAT(
      trouble("[job]\nrounds = 20\n" + std::string(smallest) + "[[event]]\nfrom_round = 20\nscale = 2\n"),
      AllOf(HasSubstr("odd.toml:6:"), HasSubstr("from_round = 20 in [[event]]"),
            HasSubstr("20 rounds, 0 to 19: give an earlier one")));
  EXPECT_THAT(event("from_round = 3\nto_round = 3\nscale = 2\n"), HasSubstr("after from_round"));
  EXPECT_THAT(event("worker = \"worker-7\"\nscale = 2\n"), HasSubstr("worker-0"));
  EXPECT_THAT(event("kill = true\n"), HasSubstr("need a worker"));
  EXPECT_THAT(event("scale = 2\nshape = \"periodic\"\nlength = 3\n"), HasSubstr("needs period"));
  EXPECT_THAT(event("scale = 2\nperiod = 3\n"), HasSubstr("has no effect"));
  EXPECT_THAT(event("scale = 2\nshape = \"ramp\"\n"), HasSubstr("needs to_round"));
  EXPECT_THAT(event("scale = 2\nfrom_s = 1\nshape = \"ramp\"\n"), HasSubstr("needs to_s"));
  EXPECT_THAT(event("scale = 2\nfrom_s = 3\nto_s = 2\n"), HasSubstr("to_s must be after from_s"));
  EXPECT_THAT(event("scale = 2\nfrom_s = 1\nto_round = 2\n"), HasSubstr("to_round counts rounds"));
  EXPECT_THAT(event("scale = 2\nlength_s = 1\nshape = \"periodic\"\nperiod = 2\nlength = 1\n"),
              HasSubstr("period counts rounds"));
  EXPECT_THAT(event("scale = 2\nshape = \"periodic\"\nperiod_s = 2\n"), HasSubstr("needs length_s"));
  EXPECT_THAT(event("kill = true\nworker = \"worker-0\"\nfrom_s = 1\n"),
              HasSubstr("kill happens in a round"));
  EXPECT_THAT(event("cpu = 0.5\nfrom_s = 1\nshape = \"bursty\"\nmean_gap = 3\nmean_length = 3\n"),
              HasSubstr("is drawn per round"));
  EXPECT_THAT(event("scale = 2\nshape = \"random_walk\"\ndeviation = 0.1\n"), HasSubstr("no other"));
  EXPECT_THAT(event("scale = 2\nshape = \"wave\"\n"), HasSubstr("random_walk"));
  EXPECT_THAT(event("scale = 2\nlowest = 0.5\n"),
              AllOf(HasSubstr("odd.toml:5"), HasSubstr("lowest has no effect")));
  EXPECT_THAT(event("scale = 2\nshape = \"bursty\"\nmean_gap = 3\nmean_length = 3\nhighest = 2\n"),
              HasSubstr("highest has no effect with shape \"bursty\""));
  EXPECT_THAT(event("memory = 0.5\n"), AllOf(HasSubstr("odd.toml:4"), HasSubstr("memory_mb")));
}

TEST(ScenarioFile, OneTimeEventsHaveNoShapeAndNoEnd) {
  const auto event = [](const std::string& text) {
    return trouble(std::string(smallest) +
                   "[[worker]]\nsamples_per_s = 9\n[[event]]\nworker = \"worker-0\"\n" + text);
  };
  for (const std::string what : {"kill", "join", "cut"}) {
    const std::string once = "from_round = 3\n" + what + " = true\n";
    EXPECT_EQ(event(once), "");
    EXPECT_THAT(event(once + "shape = \"periodic\"\nperiod = 9\nlength = 2\n"),
                AllOf(HasSubstr("odd.toml:9"), HasSubstr(what + " happens once")));
    EXPECT_THAT(event(once + "unforeseen = true\n"), HasSubstr("unforeseen has no effect"));
    if (what != "kill") {
      EXPECT_THAT(event(once + "to_round = 9\n"),
                  AllOf(HasSubstr("odd.toml:9"), HasSubstr("to_round has no effect on " + what)));
      EXPECT_THAT(event(once + "kill = true\n"), HasSubstr("an event of its own"));
      EXPECT_THAT(event(once + "to_round = 9\nscale = 2\n"), HasSubstr("an event of its own"));
    }
  }
  EXPECT_EQ(event("from_round = 3\nto_round = 9\nkill = true\n"), "");
  EXPECT_THAT(event("join = true\n"), HasSubstr("join needs from_round"));
}

TEST(ScenarioFile, TheExchangeIsSpecifiedInOneWay) {
  const auto network = [](const std::string& text) { return trouble("[network]\n" + text + smallest); };
  EXPECT_EQ(network("latency_ms = 1\n"), "");
  EXPECT_EQ(network("bandwidth_gbps = 1\nmodel_mb = 5\n"), "");
  EXPECT_THAT(network("model_mb = 5\n"), AllOf(HasSubstr("odd.toml:2"), HasSubstr("give that too")));
  EXPECT_THAT(network("latency_ms = 1\nbandwidth_gbps = 5\n"),
              AllOf(HasSubstr("odd.toml:3"), HasSubstr("give that too")));
  for (const std::string links : {"latency_ms = 1\n", "bandwidth_gbps = 1\nmodel_mb = 5\n"})
    EXPECT_THAT(network(links + "step_ms = 3\n"), HasSubstr("one of the two"));
}

TEST(ScenarioFile, AWorkerMayHaveItsOwnLink) {
  const auto scenario = [](const std::string& network, const std::string& keys) {
    return parse_scenario("[job]\nrounds = 4\n[network]\n" + network +
                              "[[worker]]\ntime_ms = [1]\n[[worker]]\nname = \"far\"\ntime_ms = [1]\n" + keys,
                          "f.toml");
  };
  const std::string links = "latency_ms = 1\nbandwidth_gbps = 10\nmodel_mb = 5\n";
  const sim::Scenario it = scenario(links, "latency_ms = 20\nbandwidth_gbps = 0.01\n");
  EXPECT_EQ(sim::network_of(it, 0).exchange_ms(), it.network.exchange_ms());
  EXPECT_DOUBLE_EQ(sim::network_of(it, 1).exchange_ms(), 2 * 20 + 2 * 4000);
  EXPECT_DOUBLE_EQ(sim::network_of(scenario(links, "latency_ms = 0\n"), 1).exchange_ms(), 2 * 4);
  EXPECT_THROW(scenario("step_ms = 5\n", "latency_ms = 20\n"), Failure);
  EXPECT_THROW(scenario("latency_ms = 1\n", "bandwidth_gbps = 1\n"), Failure)
      << "without model_mb nothing is sent";
}

TEST(ScenarioFile, RoundsWithoutAnyWorkerAreRefused) {
  const std::string killed = std::string(smallest) + "[[event]]\nworker = \"worker-0\"\nkill = true\n";
  EXPECT_THAT(trouble(killed + "from_round = 3\nto_round = 9\n"),
              AllOf(HasSubstr("odd.toml"), HasSubstr("no worker is present in round 3")));
}

TEST(ScenarioFile, TheCommandLineReplacesKeys) {
  const std::vector<std::string> given{"network.step_ms=7", "worker.a.noise=0.5", "job.rounds=3"};
  const sim::Scenario it =
      parse_scenario("[[worker]]\nname = \"a\"\nsamples_per_s = 9\nnoise = 0.1\n", "a.toml", given);
  EXPECT_EQ(it.network.step_ms, 7);
  EXPECT_EQ(it.workers[0].noise, 0.5);
  EXPECT_EQ(it.rounds, 3);
  EXPECT_THROW(parse_scenario(smallest, "a.toml", {"worker.missing.noise=0.5"}), Failure);
  EXPECT_THROW(parse_scenario(smallest, "a.toml", {"network.step_ns=5"}), Failure);
}

TEST(ScenarioFile, MemoryKeysAreRead) {
  const sim::Scenario it = parse_scenario(
      "[[worker]]\nsamples_per_s = 9\nmemory_mb = 16000\n[[worker]]\nsamples_per_s = 9\n"
      "[[event]]\nmemory = 0.3\nscale = 2\n",
      "a.toml");
  EXPECT_EQ(it.workers[0].memory_mb, 16'000);
  EXPECT_EQ(it.workers[1].memory_mb, 0);
  EXPECT_EQ(it.events[0].memory, 0.3);
  EXPECT_THAT(trouble("[[worker]]\nkind = \"gpu\"\nsamples_per_s = 9\nmemory_mb = 16000\n"),
              AllOf(HasSubstr("odd.toml:4"), HasSubstr("max_batch")));
}

TEST(ScenarioFile, FileNamesAreRelativeToTheScenario) {
  const TemporaryFolder folder;
  folder.write("data/p.json",
               R"({"steelyard_profile":1,"alone":[{"samples":10,"ms":4},{"samples":20,"ms":6}]})");
  folder.write(
      "data/rounds.jsonl",
      R"({"purpose":"train","workers":["half","b"],"shares":[10,20],"compute_ms":[5,8],"round_ms":10})"
      "\n"
      R"({"purpose":"train","workers":["half","b"],"shares":[20,10],"compute_ms":[9,5],"round_ms":10})");
  folder.write("data/t.csv", "time_s,cpu\n0,1\n5,0.5\n");
  const auto file = folder.write("s.toml", R"([job]
global_batch = 30
rounds = 2
[network]
recorded = "data/rounds.jsonl"
[[worker]]
profile = "data/p.json"
trace = "data/t.csv"
[[worker]]
name = "half"
recorded = "data/rounds.jsonl"
[[worker]]
recorded = "data/rounds.jsonl"
recorded_worker = "b"
noise = 0.1
)");
  const sim::Scenario it = read_scenario(file.string());
  EXPECT_DOUBLE_EQ(it.network.step_ms, 1.5) << "the median of 2 and 1";
  EXPECT_DOUBLE_EQ(it.workers[0].own_ms(15), 5);
  EXPECT_EQ(it.workers[0].trace.kind, sim::SpeedTrace::Kind::cpu);
  EXPECT_THAT(it.workers[0].trace.levels, ElementsAre(1, 0.5));
  EXPECT_NEAR(it.workers[1].own_ms(10) * it.workers[1].recording.factor(0), 5, 1e-9);
  EXPECT_NEAR(it.workers[1].own_ms(20) * it.workers[1].recording.factor(1), 9, 1e-9);
  EXPECT_NEAR(it.workers[2].own_ms(20) * it.workers[2].recording.factor(0), 8, 1e-9);
  EXPECT_EQ(sim::simulate(it).rounds.size(), 2U);
}

TEST(ScenarioFile, ComputeTimesAreGivenInOneWay) {
  EXPECT_THAT(trouble("[[worker]]\ntime_ms = [1, 1]\nprofile = \"p.json\"\n"), HasSubstr("give one of"));
  EXPECT_THAT(trouble("[[worker]]\ntrace = \"t.csv\"\n"), HasSubstr("give one of"));
  EXPECT_THAT(trouble("[[worker]]\nsamples_per_s = 1\nrecorded_worker = \"a\"\n"),
              HasSubstr("give recorded too"));
  EXPECT_THAT(trouble("[[worker]]\nflat_ms = 3\nprofile = \"p.json\"\n"),
              HasSubstr("with time_ms or samples_per_s"));
  EXPECT_THAT(trouble("[[worker]]\nprofile = \"nowhere.json\"\n"),
              AllOf(HasSubstr("nowhere.json"), HasSubstr("steelyard profile")));
  EXPECT_THAT(trouble("[network]\nstep_ms = 1\nrecorded = \"a.jsonl\"\n"), HasSubstr("one of the two"));
  EXPECT_THAT(trouble("[[worker]]\nprofil = \"p\"\n"), HasSubstr("did you mean \"profile\"?"));
}

TEST(ScenarioFile, MissingFilesAreRefused) { EXPECT_THROW(read_scenario("nowhere.toml"), Failure); }

}  // namespace
}  // namespace steelyard::scenario_file_test
