// Every policy under every sync mode in a cluster of threads, from the text of a job to the last version. The
// lists are the registries. The same in virtual time: tests/sim/every_policy_and_mode_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "balancing/policies.h"
#include "core/error.h"
#include "core/interval.h"
#include "tests/support/sync_modes.h"
#include "tests/support/test_cluster.h"

namespace steelyard::test::every_combination_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t samples = 130;

// Two epochs of four rounds and a short one.
std::string job_text(const std::string& policy, const std::string& sync) {
  return "[model]\nname = \"softmax\"\n[data]\nname = \"synthetic\"\ntrain = " + std::to_string(samples) +
         "\ntest = 10\nheight = 4\nwidth = 4\n[train]\nbatch = 30\nepochs = 2\noptimizer = \"sgd\"\n" +
         "lr = 0.01\n[cluster]\nservers = 2\nheartbeat = 0.1\nheartbeat_timeout = 60\n" + "policy = \"" +
         policy + "\"\nsync = \"" + sync +
         "\"\n[[worker]]\nname = \"a\"\n[[worker]]\nname = \"b\"\n[[worker]]\nname = \"c\"\n";
}

// Every position of each epoch is in one round, and the shares of a round are its samples. With backup
// workers a round may lack positions of its interval, which belong to the next: then only the sum is known.
void expect_each_position_once(const Job& job, const std::vector<RoundRecord>& rounds) {
  std::uint64_t all = 0;
  Position at = 0;
  for (const RoundRecord& round : rounds) {
    std::uint64_t shares = 0;
    for (const RoundRecord::Part& part : round.parts) shares += part.share;
    EXPECT_EQ(shares, round.samples()) << "round " << round.round;
    all += round.samples();
    if (job.sync.backup > 0) continue;
    EXPECT_EQ(round.positions.begin, at) << "round " << round.round;
    at = round.positions.end % samples;
  }
  EXPECT_EQ(at, 0U);
  EXPECT_EQ(all, job.epochs * samples);
}

// The job, or nothing if it is refused before anything starts.
std::optional<Job> accepted(const std::string& policy, const std::string& sync) {
  try {
    Job job = parse_job(job_text(policy, sync), "job.toml").job;
    complete(job, described(workload_of(job)));
    return job;
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("policy \"" + policy + "\""),
                                      HasSubstr("sync = \"" + sync + "\""), HasSubstr("choose policy = ")));
    return std::nullopt;
  }
}

void train(Job job) {
  const Workload workload = workload_of(job);
  const nn::Model model = model_of(job, workload.data.train->shape(), workload.data.train->classes());
  const Snapshot initial = fresh(job, model, workload.data);
  const ClusterResult result = run_cluster(job, model, workload.data, {Transport::local, initial});
  ASSERT_EQ(result.stop.outcome, Outcome::finished) << result.stop.text;
  EXPECT_THAT(result.notes, Each(Not(HasSubstr("no usable plan"))));
  ASSERT_FALSE(result.stored.empty());
  EXPECT_EQ(result.stored.back().progress.epoch, job.epochs);
  expect_each_position_once(job, result.rounds);
}

TEST(EveryCombination, TrainsOrIsRefusedByName) {
  std::size_t combinations = 0, refused = 0;
  for (const char* sync : sync_modes()) {
    for (const std::string& policy : balancing::policy_names()) {
      SCOPED_TRACE(policy + ", " + sync);
      ++combinations;
      const std::optional<Job> job = accepted(policy, sync);
      EXPECT_EQ(!job, parse_sync(sync).paced && policy != "orchestra");
      if (job) {
        train(*job);
      } else {
        ++refused;
      }
    }
  }
  std::printf("%zu combinations, %zu of them refused\n", combinations, refused);
}

}  // namespace
}  // namespace steelyard::test::every_combination_test
