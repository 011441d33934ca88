// `simulate_slowdown`, `simulate_cpu_share` and `threads` of a worker in a job file: numbers or texts.
#include <gmock/gmock.h>

#include "app/config/job_file.h"
#include "core/error.h"
#include "worker/compute/thread_count.h"
#include "worker/compute/throttle.h"

namespace steelyard::job_throttle_test {
namespace {

using ::testing::HasSubstr;

WorkerSpec worker_of(const std::string& keys, const std::vector<std::string>& overrides = {}) {
  return parse_job("[[worker]]\n" + keys + "\n", "j.toml", overrides).worker_specs.at(0);
}

std::string refusal(const std::string& keys) {
  try {
    worker_of(keys);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "accepted";
}

TEST(JobThrottle, IsANumberOrSteps) {
  EXPECT_EQ(worker_of("").simulate_slowdown, "1");
  EXPECT_EQ(worker_of("").simulate_cpu_share, "1");
  EXPECT_EQ(worker_of("simulate_slowdown = 2.50").simulate_slowdown, "2.5");
  EXPECT_EQ(worker_of("simulate_slowdown = \"2, 6@10, again@20\"").simulate_slowdown, "2, 6@10, again@20");
  EXPECT_EQ(worker_of("simulate_cpu_share = 0.5").simulate_cpu_share, "0.5");
  EXPECT_EQ(worker_of("", {"worker.worker-0.simulate_cpu_share=1, 0.3@5"}).simulate_cpu_share, "1, 0.3@5");
}

TEST(JobThreads, AreANumberOrAuto) {
  EXPECT_EQ(worker_of("").threads, "1");
  EXPECT_EQ(worker_of("threads = 4").threads, "4");
  EXPECT_EQ(worker_of("threads = \"auto\"").threads, "auto");
  EXPECT_EQ(refusal("threads = 0"),
            "j.toml:2:11: threads = 0 in [[worker]]: give " + thread_count_expected());
  EXPECT_THAT(refusal("threads = \"all\""), HasSubstr("give " + thread_count_expected()));
}

TEST(JobPrecision, IsOneOfThree) {
  EXPECT_EQ(worker_of("").precision, "float32");
  EXPECT_EQ(worker_of("precision = \"bf16\"").precision, "bf16");
  EXPECT_EQ(worker_of("precision = \"tf32\"\ndevice = \"cuda:0\"").precision, "tf32");
  EXPECT_THAT(refusal("precision = \"fp16\""), HasSubstr("float32"));
}

TEST(JobThrottle, ReadsBackTheSame) {
  for (const char* keys : {"simulate_slowdown = 2", "simulate_slowdown = 1e2", "simulate_slowdown = \" 3 \"",
                           "simulate_cpu_share = \"1, 0.4@10, again@20\"", "simulate_cpu_share = 0.25",
                           "threads = 4", "threads = \"auto\"", "precision = \"bf16\"", "recompute = true"}) {
    const JobFile file = parse_job("[[worker]]\n" + std::string(keys) + "\n", "j.toml");
    const JobFile again = parse_job(file.resolved, "again");
    EXPECT_EQ(again.resolved, file.resolved) << keys;
    EXPECT_EQ(again.worker_specs.at(0).simulate_slowdown, file.worker_specs.at(0).simulate_slowdown) << keys;
    EXPECT_EQ(again.worker_specs.at(0).simulate_cpu_share, file.worker_specs.at(0).simulate_cpu_share)
        << keys;
    EXPECT_EQ(again.worker_specs.at(0).threads, file.worker_specs.at(0).threads) << keys;
    EXPECT_EQ(again.worker_specs.at(0).precision, file.worker_specs.at(0).precision) << keys;
    EXPECT_EQ(again.worker_specs.at(0).recompute, file.worker_specs.at(0).recompute) << keys;
  }
}

TEST(JobThrottle, GoldenRefusals) {
  EXPECT_EQ(refusal("simulate_slowdown = 0.5"),
            "j.toml:2:21: simulate_slowdown = 0.5 in [[worker]]: give " + Throttle::slow_expected());
  EXPECT_EQ(refusal("simulate_cpu_share = 1.5"),
            "j.toml:2:22: simulate_cpu_share = 1.5 in [[worker]]: give " + Throttle::cpu_expected());
  EXPECT_EQ(
      refusal("simulate_slowdown = \"2, 6@10, 3@10\""),
      "j.toml:2:21: simulate_slowdown = \"2, 6@10, 3@10\" in [[worker]]: give " + Throttle::slow_expected());
  EXPECT_THAT(refusal("simulate_slowdown = true"), HasSubstr("simulate_slowdown = "));
  EXPECT_THAT(refusal("simulate_slowdown = [1, 2]"), HasSubstr("simulate_slowdown = a list"));
  EXPECT_THAT(Throttle::slow_expected(), HasSubstr("a number from 1 to 1000, or several"));
  EXPECT_THAT(Throttle::cpu_expected(), HasSubstr("a share from 0.01 to 1, or several"));
}

}  // namespace
}  // namespace steelyard::job_throttle_test
