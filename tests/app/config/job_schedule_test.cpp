// Tables of learning rates in a job file: read, written back, and refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/config/job_keys.h"
#include "core/error.h"
#include "core/text.h"
#include "tests/support/complaint.h"

namespace steelyard::job_schedule_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string table = "[train]\nschedule = \"table\"\n", one_worker = "[[worker]]\n";

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return complaint_of([&] { parse_job(text, "j.toml", overrides); });
}

TEST(JobSchedule, ATableOfRatesIsRead) {
  const JobFile file =
      parse_job(table + "step_epochs = 0.25\nrates = [0.1, 5e-3, 0, 2]\n" + one_worker, "j.toml");
  EXPECT_EQ(file.job.schedule.kind, nn::Schedule::Kind::table);
  EXPECT_THAT(file.job.schedule.rates, ElementsAre(0.1, 5e-3, 0, 2));
  EXPECT_EQ(file.job.schedule.step_epochs, 0.25);
  EXPECT_THAT(file.resolved, HasSubstr("\nrates = [0.1, 0.005, 0, 2]\n"));
  const JobFile again = parse_job(file.resolved, "again");
  EXPECT_EQ(again.resolved, file.resolved);
  EXPECT_EQ(again.job.schedule.rates, file.job.schedule.rates);
}

TEST(JobSchedule, WithoutATableRatesAreLeftOut) {
  EXPECT_THAT(parse_job(one_worker, "j.toml").resolved, Not(HasSubstr("rates")));
}

TEST(JobSchedule, SetAcceptsATable) {
  const std::vector<std::string> given{"train.schedule=table", "train.rates=[1, 0.5]"};
  EXPECT_THAT(parse_job(one_worker, "j.toml", given).job.schedule.rates, ElementsAre(1, 0.5));
  EXPECT_THAT(
      parse_job(table + "rates = [3]\n" + one_worker, "j.toml", {"train.rates=[2]"}).job.schedule.rates,
      ElementsAre(2));
  const Job cosine = parse_job(table + "rates = [3]\n" + one_worker, "j.toml", {"train.schedule=cosine"}).job;
  EXPECT_EQ(cosine.schedule.kind, nn::Schedule::Kind::cosine);
}

// One rate for each round of many epochs, each with all of its digits.
TEST(JobSchedule, ALongTableKeepsEveryBit) {
  std::vector<double> rates;
  std::string text;
  for (int i = 1; i <= 100'000; ++i) {
    rates.push_back(1.0 / (3 * i));
    text += (i == 1 ? "" : ", ") + number_text(rates.back());
  }
  const JobFile file = parse_job(table + "rates = [" + text + "]\n" + one_worker, "j.toml");
  EXPECT_TRUE(file.job.schedule.rates == rates);
  EXPECT_TRUE(parse_job(file.resolved, "again").job.schedule.rates == rates);
}

TEST(JobSchedule, ATableNeedsNoLengthOfTheTraining) {
  EXPECT_EQ(refusal(table + "rates = [1]\nseconds = 9\n" + one_worker), "");
}

TEST(JobSchedule, InvalidTablesAreRefusedWithTheirPlace) {
  const std::string numbers =
      " in [train]: give a list of 1 to 1000000 numbers only, of at least 0, as in [0.1, 0.05]";
  for (const char* bad : {"[]", "[0.1, -1]", "[1, nan]", "[inf]", "[\"a\"]", "[[1]]"})
    EXPECT_EQ(refusal(table + "rates = " + bad + "\n" + one_worker), "j.toml:3:9: rates = a list" + numbers)
        << bad;
  EXPECT_EQ(refusal(table + "rates = 0.1\n" + one_worker), "j.toml:3:9: rates = 0.1" + numbers);
  EXPECT_EQ(refusal(table + one_worker),
            "j.toml:2:12: schedule = \"table\" has no rates: give rates = [0.1, 0.05], or another schedule");
  EXPECT_EQ(refusal(table + "rates = [1]\nwarmup = 0.5\n" + one_worker),
            "j.toml:2:12: schedule = \"table\" includes the warm-up in its rates: leave warmup out");
}

TEST(JobSchedule, HelpAndJsonSchemaShowATable) {
  JobDraft draft;
  const Schema schema = schema_of(draft);
  EXPECT_THAT(describe(schema), HasSubstr("\n  rates = [0.1, 0.05]"));
  const auto rates = nlohmann::json::parse(json_schema(schema))["properties"]["train"]["properties"]["rates"];
  EXPECT_EQ(rates["items"]["minimum"], 0);
  EXPECT_EQ(rates["maxItems"], 1'000'000);
}

// Its length is [train] epochs, or follows from the rounds if epochs are not given.
TEST(JobSchedule, TheScheduleSpansTheTraining) {
  Job job = parse_job("[train]\nbatch = 100\nrounds = 25\nschedule = \"cosine\"\n" + one_worker, "j").job;
  EXPECT_EQ(job.epochs, 0U);
  set_samples(job, 1000, 50);
  EXPECT_EQ(job.schedule.epochs, 2.5);
  EXPECT_EQ(job.train_samples, 1000U);
  EXPECT_EQ(job.test_samples, 50U);

  // 950 samples are ten rounds, the last of them short: nineteen rounds miss the second epoch's last 50.
  job.rounds = 19;
  set_samples(job, 950, 50);
  EXPECT_DOUBLE_EQ(job.schedule.epochs, 1 + 900.0 / 950);
  job.epochs = 1;
  set_samples(job, 950, 50);
  EXPECT_EQ(job.schedule.epochs, 1);
  EXPECT_THROW(set_samples(job, 99, 50), Failure);
}

}  // namespace
}  // namespace steelyard::job_schedule_test
