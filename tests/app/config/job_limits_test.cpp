// Jobs that ask for more than any machine can do are refused when they are read, with the key, instead of
// hanging.
#include <gmock/gmock.h>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "core/error.h"

namespace steelyard::job_limits_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

template <class Call>
std::string refusal(const Call& call, ExitCode code = ExitCode::configuration) {
  try {
    call();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "";
}

std::string refused(const std::string& text, const std::vector<std::string>& set = {}) {
  return refusal([&] { parse_job(text, "j.toml", set); });
}

TEST(JobLimits, LocalStepsOfARoundAreLimited) {
  const auto steps = [](const std::string& sync, const std::string& train, std::uint64_t samples) {
    return refusal([&] {
      JobFile file =
          parse_job("[train]\n" + train + "\n[cluster]\nsync = \"" + sync + "\"\n[[worker]]\n", "j.toml");
      set_samples(file.job, samples, 0);
    });
  };
  EXPECT_EQ(steps("oneshot:end", "batch = 1\nepochs = 16", 1 << 20), "");
  EXPECT_THAT(steps("oneshot:end", "batch = 1\nepochs = 17", 1 << 20),
              AllOf(HasSubstr("sync = \"oneshot:end\" in [cluster]"), HasSubstr("17825792 local steps"),
                    HasSubstr("the limit is 16777216"), HasSubstr("fewer epochs")));
  EXPECT_THAT(steps("oneshot:epoch", "batch = 1", (1 << 24) + 1), HasSubstr("give [train] a larger batch"));
  EXPECT_EQ(steps("oneshot:epoch", "batch = 2", (1 << 24) + 1), "");
  EXPECT_EQ(steps("bsp", "batch = 1\nepochs = 1000", 1 << 20), "");
  EXPECT_THAT(steps("oneshot:end", "batch = 1\nepochs = 1000000000", UINT64_MAX), HasSubstr("the limit is"));
}

TEST(JobLimits, ARoundIsAWholeNumberOfGrains) {
  const auto refused_batch = [](std::uint64_t batch) {
    Job job;
    job.model = "resnet";
    job.global_batch = batch;
    ModelDescription model;
    model.train_samples = 1000;
    model.labels = 7;
    model.grain = 32;
    append(model.layout, "w", {10});
    const std::string text = refusal([&] { complete(job, model); });
    if (text.empty()) {
      EXPECT_EQ(job.grain, 32U);
      EXPECT_EQ(job.labels, 7U);
    }
    return text;
  };
  EXPECT_EQ(refused_batch(512), "");
  EXPECT_THAT(refused_batch(500), AllOf(HasSubstr("batch = 500 in [train]"), HasSubstr("model \"resnet\""),
                                        HasSubstr("grains of 32 samples"), HasSubstr("give 480 or 512")));
  EXPECT_THAT(refused_batch(20), AllOf(HasSubstr("give 32"), Not(HasSubstr("give 0"))));
}

TEST(JobLimits, ShardsAreLimited) {
  EXPECT_EQ(refused("[cluster]\nservers = 400\n[[worker]]\n"), "");
  EXPECT_EQ(refused("[cluster]\nservers = 1024\nshards_per_server = 19\n[[worker]]\n"), "");
  EXPECT_THAT(
      refused("[cluster]\nservers = 1024\nshards_per_server = 20\n[[worker]]\n"),
      AllOf(HasSubstr("j.toml:2:11: servers x shards_per_server = 20480"), HasSubstr("the limit is 20000")));
}

TEST(JobLimits, ANoteWarnsIfWorkersCannotHoldARound) {
  const auto note = [](const std::string& workers) {
    return memory_note(parse_job("[train]\nbatch = 100\n" + workers, "j.toml"));
  };
  EXPECT_EQ(note("[[worker]]\nmax_batch = 10\n[[worker]]\n"), "");
  EXPECT_EQ(note("[[worker]]\nmax_batch = 60\n[[worker]]\nmax_batch = 40\n"), "");
  EXPECT_EQ(note("[[worker]]\nmax_batch = 10\n[[worker]]\nmax_batch = 20\n"),
            "the workers hold 30 of the 100 samples of a round at once (max_batch in [[worker]]): each round "
            "takes 4 "
            "turns; raise max_batch, or give [train] a smaller batch");
}

TEST(JobLimits, ANoteWarnsIfMirrorsAreNotReplaced) {
  const auto note = [](const std::string& lines) {
    return replica_note(
        parse_job("[cluster]\nservers = 2\nreplicas = 1\n" + lines + "[[worker]]\n[[worker]]\n", "j.toml")
            .job);
  };
  EXPECT_EQ(note(""), "");
  EXPECT_EQ(note("sync = \"ssp:2\"\n"), "");
  EXPECT_THAT(note("sync = \"mll:2:2:2\"\n"), HasSubstr("with sync = \"mll:2:2:2\" a lost mirror is not"));
  EXPECT_THAT(note("sync = \"dc-asgd\"\n"), HasSubstr("dc-asgd"));
  EXPECT_THAT(note("[train]\ngradient_limit = 10\n"), HasSubstr("gradient_limit"));
  EXPECT_EQ(replica_note(parse_job("[cluster]\nsync = \"dc-asgd\"\n[[worker]]\n", "j.toml").job), "");
}

TEST(JobLimits, ScenariosAreRefused) {
  EXPECT_EQ(refused("[job]\nrounds = 20\n[[worker]]\ntime_ms = [1]\n[[event]]\nscale = 2\n"),
            "j.toml: this is a scenario: it has [[event]]: run it with `steelyard simulate`, or give a job "
            "(steelyard "
            "help job)");
  EXPECT_THAT(refused("[train]\nbatch = 3\n[[worker]]\ntime_ms = 3\n"), HasSubstr("unknown key \"time_ms\""));
}

TEST(JobLimits, UnknownSectionsOfSetAreReportedAsSet) {
  EXPECT_EQ(refused("[[worker]]\n", {"trian.lr=0.1"}),
            "--set trian.lr=0.1: unknown section [trian]; did you mean \"train\"? (valid: job, model, "
            "data, train, cluster, policy, worker)");
  EXPECT_THAT(refused("[[worker]]\n", {"policy.lbbsp.alpha=0.1"}),
              AllOf(HasSubstr("--set policy.lbbsp.alpha=0.1: "), HasSubstr("lb-bsp")));
  EXPECT_THAT(refused("[trian]\n[[worker]]\n", {"trian.lr=0.1"}),
              HasSubstr("j.toml:1:2: unknown section [trian]"));
}

}  // namespace
}  // namespace steelyard::job_limits_test
