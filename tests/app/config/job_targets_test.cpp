// Jobs whose model predicts numbers: what the loss in [model] makes of the labels in [data].
#include <gmock/gmock.h>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "core/error.h"
#include "tests/support/temporary_folder.h"
#include "worker/data/targets.h"

namespace steelyard::job_targets_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class JobTargets : public testing::Test {
 protected:
  // A job with files of numbers, `more` keys of [data], and this loss.
  Job job(const std::string& loss, const std::string& more = "", const std::string& train = "") const {
    const std::string file =
        folder_.write("t.csv", std::string_view("a,b,c\n1,0,1\n2,1,0\n3,1,1\n")).string();
    return parse_job("[model]\nname = \"mlp\"\nhidden = [4]\n" +
                         (loss.empty() ? "" : "loss = \"" + loss + "\"\n") +
                         "[data]\nname = \"csv\"\ntrain = \"" + file + "\"\ntest = \"" + file + "\"\n" +
                         more + "[train]\nbatch = 2\n" + train + "[[worker]]\n",
                     "j.toml", {})
        .job;
  }
  static std::string refusal(const Job& job) {
    try {
      (void)workload_of(job);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration) << failure.what();
      return failure.what();
    }
    return "";
  }
  const TemporaryFolder folder_;
};

TEST_F(JobTargets, TheLossSetsTheKindOfLabels) {
  EXPECT_EQ(data_options_of(job("")).count(targets_key), 0U);
  EXPECT_EQ(data_options_of(job("hinge")).count(targets_key), 0U);
  EXPECT_EQ(data_options_of(job("mse")).at(targets_key), "numbers");
  EXPECT_EQ(data_options_of(job("mae")).at(targets_key), "numbers");
  EXPECT_EQ(data_options_of(job("bce")).at(targets_key), "binary");
  EXPECT_EQ(data_options_of(job("mse", "targets = \"classes\"\n")).at(targets_key), "classes");
  Job pictures = job("mse");
  pictures.data = "digits";
  EXPECT_EQ(data_options_of(pictures).count(targets_key), 0U) << "it has no such option";
}

TEST_F(JobTargets, SeveralColumnsAreSeveralOutputs) {
  const Workload one = workload_of(job("mse"));
  EXPECT_EQ(one.model->classes(), 1U);
  EXPECT_EQ(one.model->loss(), nn::Loss::mean_squared_error);
  EXPECT_EQ(one.data.train->shape(), (nn::Shape{1, 1, 2}));
  const Workload two = workload_of(job("bce", "label = [\"b\", \"c\"]\n"));
  EXPECT_EQ(two.model->classes(), 2U);
  EXPECT_EQ(described(two).classes, 2U);
  EXPECT_THAT(two.data.class_names, ElementsAre("b", "c"));
  EXPECT_EQ(workload_of(job("")).model->classes(), 2U) << "classes 0 and 1";
}

TEST_F(JobTargets, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(refusal(job("mse", "targets = \"classes\"\n")),
              AllOf(HasSubstr("loss = \"mse\" takes numbers as labels"), HasSubstr("has classes")));
  EXPECT_THAT(refusal(job("", "targets = \"numbers\"\n")), HasSubstr("choose the loss mse, mae or bce"));
  EXPECT_THAT(refusal(job("", "targets = \"numbers\"\nlabel = [\"b\", \"c\"]\n")),
              HasSubstr("give loss = \"mse\""));
  EXPECT_THAT(refusal(job("bce", "targets = \"numbers\"\n")), HasSubstr("takes labels of 0 and 1"));
  Job pictures = job("mse");
  pictures.data = "digits", pictures.data_options.clear();
  EXPECT_THAT(refusal(pictures), HasSubstr("data set 'digits' has classes: choose the data set csv or npy"));
}

TEST_F(JobTargets, NumbersHaveNoAccuracyToReach) {
  const std::string target = "target_accuracy = 0.9\n";
  EXPECT_THAT(refusal(job("mse", "", target)),
              AllOf(HasSubstr("target_accuracy = 0.9 in [train]"), HasSubstr("no answer is right or wrong")));
  EXPECT_EQ(refusal(job("bce", "", target)), "");
  EXPECT_EQ(refusal(job("", "", target)), "");
}

}  // namespace
}  // namespace steelyard::job_targets_test
