// Files that describe devices: profiles, recordings and traces, and errors for invalid ones.
#include "app/config/device_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::device_files_test {
namespace {

using sim::MeasuredTime;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class DeviceFiles : public testing::Test {
 protected:
  // The error of `read` for a file with this text.
  template <class Read>
  std::string trouble(const std::string& text, Read read) const {
    const std::string path = folder_.write("odd", text).string();
    try {
      read(path);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      EXPECT_THAT(failure.what(), HasSubstr(path));
      return failure.what();
    }
    return {};
  }
  TemporaryFolder folder_;
};

TEST_F(DeviceFiles, TimesMeasuredTogetherArePreferred) {
  const std::string path = folder_
                               .write("p.json", R"({"steelyard_profile": 1, "name": "m", "device": "cpu",
    "model": "lenet5", "alone": [{"samples": 32, "ms": 2}],
    "together": [{"samples": 32, "ms": 3.5}, {"samples": 64, "ms": 6, "deviation": 0.1}]})")
                               .string();
  EXPECT_THAT(read_profile(path), ElementsAre(MeasuredTime{32, 3.5}, MeasuredTime{64, 6}));
}

TEST_F(DeviceFiles, AProfileMayHaveOneList) {
  const auto times = [&](const std::string& list) {
    return read_profile(folder_
                            .write("p.json", "{\"steelyard_profile\": 1, \"" + list +
                                                 "\": [{\"samples\": 8, \"ms\": 1}], \"together\": []}")
                            .string());
  };
  EXPECT_THAT(times("alone"), ElementsAre(MeasuredTime{8, 1}));
  EXPECT_THAT(times("points"), ElementsAre(MeasuredTime{8, 1}));
}

TEST_F(DeviceFiles, InvalidProfilesAreRefused) {
  const auto read = [](const std::string& path) { read_profile(path); };
  EXPECT_THAT(trouble("{\n\"steelyard_profile\": 1,\noops", read),
              AllOf(HasSubstr(":3: is not JSON"), HasSubstr("steelyard profile")));
  EXPECT_THAT(trouble("[1e9999]", read), AllOf(HasSubstr("a number"), HasSubstr("steelyard profile")));
  EXPECT_THAT(trouble("[]", read), HasSubstr("not a profile"));
  EXPECT_THAT(trouble("{\"steelyard_profile\": 2}", read), HasSubstr("not a profile"));
  EXPECT_THAT(trouble("{\"steelyard_profile\": 1, \"alone\": []}", read), HasSubstr("has no times"));
  EXPECT_THAT(
      trouble("{\"steelyard_profile\": 1, \"alone\": [{\"samples\": 8, \"ms\": 1}, {\"samples\": 8}]}", read),
      AllOf(HasSubstr("entry 1 of \"alone\""), HasSubstr("\"ms\"")));
  EXPECT_THAT(trouble("{\"steelyard_profile\": 1, \"alone\": [{\"samples\": 0, \"ms\": 1}]}", read),
              HasSubstr("\"samples\""));
  EXPECT_THROW(read_profile(folder_.path("nowhere")), Failure);
  EXPECT_THROW(read_profile(folder_.path().string()), Failure) << "a directory can be opened";
}

constexpr char rounds[] =
    R"({"round":0,"purpose":"train","workers":["a","b"],"shares":[10,20],"compute_ms":[5,8.5],"round_ms":10}
{"round":1,"purpose":"evaluate","workers":["a","b"],"shares":[1,1],"compute_ms":[1,1],"round_ms":100}
{"round":1,"purpose":"train","workers":["a","b"],"shares":[12,18],"compute_ms":[6,8],"round_ms":11}

{"round":2,"purpose":"train","workers":["a"],"shares":[30],"compute_ms":[15],"round_ms":17}
)";

TEST_F(DeviceFiles, ARecordingHasOneWorkersTrainingRounds) {
  const std::string path = folder_.write("rounds.jsonl", rounds).string();
  EXPECT_THAT(read_recording(path, "a"),
              ElementsAre(MeasuredTime{10, 5}, MeasuredTime{12, 6}, MeasuredTime{30, 15}));
  EXPECT_THAT(read_recording(path, "b"),
              ElementsAre(MeasuredTime{20, 8.5}, MeasuredTime{18, 8}, MeasuredTime{}))
      << "it was absent in the third round";
  EXPECT_DOUBLE_EQ(read_exchange_ms(path), 2) << "the median of 1.5, 3 and 2";
  const RecordedRun record = read_record(path);
  EXPECT_EQ(record.rounds, 3U);
  EXPECT_NEAR(record.exchange_ms, 6.5 / 3, 1e-9);
  ASSERT_EQ(record.workers.size(), 2U);
  EXPECT_EQ(record.workers[1].name, "b");
  EXPECT_EQ(record.workers[1].first_round, 0U);
}

TEST_F(DeviceFiles, InvalidRecordsAreRefused) {
  const auto read = [](const std::string& path) { read_recording(path, "fats"); };
  EXPECT_THAT(trouble(std::string(rounds) + "{\"round\":3,\n", read),
              HasSubstr(":6: is not a line of a rounds.jsonl"));
  EXPECT_THAT(trouble("{\"purpose\":\"train\"}\n", read), HasSubstr(":1: is not a line"));
  EXPECT_THAT(
      trouble(R"({"purpose":"train","workers":["a"],"shares":[1,2],"compute_ms":[1],"round_ms":1})", read),
      HasSubstr(":1: lacks a share or a time"));
  EXPECT_THAT(trouble("\n", read), HasSubstr("no training round"));
  EXPECT_THAT(
      trouble(R"({"purpose":"train","workers":["fast"],"shares":[1],"compute_ms":[1],"round_ms":1})", read),
      AllOf(HasSubstr("has no round of worker \"fats\""), HasSubstr("did you mean \"fast\"?")));
  EXPECT_THROW(read_exchange_ms(folder_.path("nowhere")), Failure);
}

TEST_F(DeviceFiles, ATraceIsReadStepByStep) {
  const sim::SpeedTrace cpu =
      read_trace(folder_.write("t.csv", "# from somewhere\ntime_s,cpu\r\n0,1\r\n\n2.5, 0.25 \n").string());
  EXPECT_EQ(cpu.kind, sim::SpeedTrace::Kind::cpu);
  EXPECT_THAT(cpu.at_s, ElementsAre(0, 2.5));
  EXPECT_THAT(cpu.levels, ElementsAre(1, 0.25));
  const sim::SpeedTrace speed = read_trace(folder_.write("t.csv", "time_s,speed\n1,3").string());
  EXPECT_EQ(speed.kind, sim::SpeedTrace::Kind::speed);
  EXPECT_THAT(speed.levels, ElementsAre(3));
}

TEST_F(DeviceFiles, InvalidTracesAreRefused) {
  const auto read = [](const std::string& path) { read_trace(path); };
  EXPECT_THAT(trouble("0,1\n", read), AllOf(HasSubstr(":1: "), HasSubstr("time_s,speed or time_s,cpu")));
  EXPECT_THAT(trouble("time_s,cpu\n", read), HasSubstr("no steps"));
  EXPECT_THAT(trouble("time_s,cpu\n0,1\n1\n", read), HasSubstr(":3: is not two numbers"));
  EXPECT_THAT(trouble("time_s,cpu\n0,half\n", read), HasSubstr(":2: is not two numbers"));
  EXPECT_THAT(trouble("time_s,cpu\n0,1,2\n", read), HasSubstr(":2: is not two numbers"));
  EXPECT_THAT(trouble("time_s,cpu\n3,1\n3,0.5\n", read), HasSubstr(":3: is not later than the line before"));
  EXPECT_THAT(trouble("time_s,cpu\n0,1.5\n", read), HasSubstr("at most 1"));
  EXPECT_THAT(trouble("time_s,speed\n0,0\n", read), HasSubstr("above 0"));
  EXPECT_THROW(read_trace(folder_.path("nowhere")), Failure);
}

}  // namespace
}  // namespace steelyard::device_files_test
