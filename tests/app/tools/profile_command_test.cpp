// `profile` as a process.
#include "app/tools/profile_command.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/config/device_files.h"
#include "core/processor.h"
#include "tests/support/process_run.h"

namespace steelyard::profile_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProfileTest : public ProcessTest {
 protected:
  [[nodiscard]] std::vector<std::string> profile(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"profile", job_, "--max-batch", "40", "--repeats", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(ProfileTest, PrintsATableAndWritesAFile) {
  ASSERT_EQ(run(profile({"--workers", "2", "--name", "box", "--output", path("box.json")})), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("measuring: one worker alone"), HasSubstr("softmax on synthetic, cpu, box"),
                    HasSubstr("each of 2 together"), HasSubstr("\n      40 ")));
  const auto json = nlohmann::json::parse(text_of(path("box.json")));
  EXPECT_EQ(json["steelyard_profile"], 1);
  for (const char* part : {"alone", "together"}) {
    ASSERT_EQ(json[part].size(), 9U) << part;
    EXPECT_EQ(json[part][8]["samples"], 40);
    for (const auto& point : json[part]) EXPECT_GT(point["ms"].get<double>(), 0) << part;
  }
}

// The written file can be used in a scenario.
TEST_F(ProfileTest, AScenarioReadsTheFile) {
  ASSERT_EQ(run(profile({"--workers", "1", "--output", path("box.json")})), 0) << said_;
  EXPECT_EQ(read_profile(path("box.json")).size(), 9U);
  const std::string scenario = write("scenario.toml", R"([job]
global_batch = 64
rounds = 3
[[worker]]
profile = "box.json"
[[worker]]
profile = "box.json"
)");
  EXPECT_EQ(run({"simulate", scenario}), 0) << said_;
}

// A profile accepts and refuses the same options as a worker.
TEST_F(ProfileTest, TakesThreadsAndPrecisionLikeAWorker) {
  const std::string precision = cpu_has_bf16() ? "bf16" : "float32";
  ASSERT_EQ(run(profile({"--workers", "1", "--threads", "2", "--precision", precision, "--name", "box",
                         "--output", path("box.json")})),
            0)
      << said_;
  EXPECT_THAT(said_, HasSubstr(cpu_has_bf16() ? "softmax on synthetic, cpu, 2 threads, bf16, box"
                                              : "2 threads, box"));
  const auto json = nlohmann::json::parse(text_of(path("box.json")));
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["precision"], precision);
  EXPECT_EQ(read_profile(path("box.json")).size(), 9U);
  EXPECT_EQ(run(profile({"--threads", "none"})), 2);
  EXPECT_EQ(run(profile({"--precision", "float16"})), 2);
  EXPECT_EQ(run(profile({"--precision", "tf32"})), 78);
  EXPECT_THAT(said_, HasSubstr("tf32"));
  if (cpu_has_bf16()) return;
  EXPECT_EQ(run(profile({"--precision", "bf16", "--name", "box"})), 78);
  EXPECT_THAT(said_, HasSubstr("worker 'box': precision = \"bf16\" needs a processor"));
}

TEST_F(ProfileTest, SmallDataSetsAreEnough) {
  EXPECT_EQ(run({"profile", job_, "--set", "data.train=20", "--set", "data.test=4", "--repeats", "1",
                 "--workers", "1", "--quiet"}),
            0)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("\n      20 "), testing::Not(HasSubstr("measuring"))));
}

TEST_F(ProfileTest, InvalidOptionsAreRefused) {
  EXPECT_EQ(run(profile({"--model", "lenet6"})), 78);
  EXPECT_THAT(said_, HasSubstr("lenet5"));
  EXPECT_EQ(run({"profile", "--set", "train.lr=1"}), 2);
  EXPECT_THAT(said_, HasSubstr("give a job file"));
  EXPECT_EQ(run(profile({"--workers", "0"})), 2);
  EXPECT_EQ(run(profile({"--workers", "1", "--output", path("nowhere/box.json")})), 74);
}

}  // namespace
}  // namespace steelyard::profile_test
