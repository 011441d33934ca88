// Optimizers in a job file, and the sync modes that exclude them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/job_file.h"
#include "core/error.h"

namespace steelyard::job_optimizer_test {
namespace {

using ::testing::HasSubstr;

const std::string one_worker = "[[worker]]\n";

std::string refusal(const std::string& text) {
  try {
    parse_job(text, "j.toml");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "";
}

TEST(JobOptimizer, KindsAndNumbersAreRead) {
  using Kind = nn::Optimizer::Kind;
  for (const auto& [name, kind] : {std::pair("sgd", Kind::sgd),
                                   {"nesterov", Kind::nesterov},
                                   {"adam", Kind::adam},
                                   {"adamw", Kind::adamw},
                                   {"lars", Kind::lars},
                                   {"lamb", Kind::lamb},
                                   {"worker", Kind::worker}}) {
    const JobFile file =
        parse_job("[train]\noptimizer = \"" + std::string(name) +
                      "\"\nbeta1 = 0.5\nbeta2 = 0.25\nepsilon = 1e-3\ntrust = 2\n" + one_worker,
                  "j.toml");
    const nn::Optimizer& it = file.job.optimizer;
    EXPECT_EQ(it.kind, kind) << name;
    EXPECT_EQ(std::tuple(it.beta1, it.beta2, it.epsilon, it.trust), std::tuple(0.5, 0.25, 1e-3, 2.0));
  }
}

TEST(JobOptimizer, UnknownOptimizersAreRefused) {
  EXPECT_EQ(refusal("[train]\noptimizer = \"adm\"\n" + one_worker),
            "j.toml:2:13: optimizer = \"adm\" in [train]: give one of \"sgd\", \"momentum\", \"nesterov\", "
            "\"adam\", \"adamw\", \"lars\", \"lamb\", \"worker\"; did you mean \"adam\"?");
}

TEST(JobOptimizer, SomeOptimizersExcludeSyncModes) {
  const auto refusal_of = [](const std::string& optimizer, const std::string& sync) {
    return refusal("[train]\noptimizer = \"" + optimizer + "\"\n[cluster]\nsync = \"" + sync + "\"\n" +
                   one_worker);
  };
  for (const char* optimizer : {"sgd", "momentum", "nesterov"}) {
    for (const char* sync : {"bsp", "ssp:2", "asp", "local:4", "oneshot:epoch"})
      EXPECT_EQ(refusal_of(optimizer, sync), "") << optimizer << " " << sync;
  }
  for (const char* optimizer : {"adam", "adamw", "lars", "lamb"}) {
    EXPECT_EQ(refusal_of(optimizer, "bsp"), "");
    EXPECT_EQ(refusal_of(optimizer, "ssp:0"), "") << "bsp";
    EXPECT_THAT(refusal_of(optimizer, "local:4"),
                HasSubstr("choose sgd, momentum or nesterov, or sync = \"bsp\""));
    EXPECT_THAT(refusal_of(optimizer, "oneshot:end"), HasSubstr("local steps"));
  }
  EXPECT_EQ(refusal_of("worker", "bsp"), "");
  EXPECT_THAT(refusal_of("worker", "asp"),
              HasSubstr("j.toml:2:13: optimizer = \"worker\" cannot be combined with sync = \"asp\""));
  EXPECT_THAT(refusal_of("worker", "ssp:2"), HasSubstr("choose sync = \"bsp\""));
  EXPECT_THAT(refusal_of("worker", "local:4"), HasSubstr("all need the same versions"));
  EXPECT_EQ(refusal_of("adam", "asp"), "") << "a push is a whole update";
  EXPECT_EQ(
      refusal_of("adam", "ssp:2"),
      "j.toml:2:13: optimizer = \"adam\" cannot be combined with sync = \"ssp:2\": there a push is a part of "
      "an update, which this optimizer cannot apply: choose sync = \"bsp\" or \"asp\"");
  EXPECT_EQ(refusal_of("lamb", "asp"),
            "j.toml:2:13: optimizer = \"lamb\" cannot be combined with sync = \"asp\": it updates whole "
            "tensors, but here each slice is updated when pushes arrive: choose sync = \"bsp\"");
  EXPECT_THAT(refusal_of("lars", "ssp:2"), HasSubstr("whole tensors"));
}

}  // namespace
}  // namespace steelyard::job_optimizer_test
