#include "app/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "app/report/trace_file.h"
#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::timeline_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId worker{Role::worker, 0x7}, shard{Role::shard, 0x8};

class TimelineTest : public testing::Test {
 protected:
  static Time at(long ms) { return Time{milliseconds(ms)}; }
  [[nodiscard]] std::string folder() const { return folder_.path().string(); }
  // The events of one kind, or of one kind and name.
  static std::vector<nlohmann::json> events(const Timeline& timeline, const std::string& kind,
                                            const std::string& name = "") {
    std::vector<nlohmann::json> found;
    const auto all = nlohmann::json::parse(timeline.json);
    for (const auto& it : all["traceEvents"])
      if (it["ph"] == kind && (name.empty() || it["name"] == name)) found.push_back(it);
    return found;
  }

  const TemporaryFolder folder_;
};

TEST_F(TimelineTest, ShowsBusyAndWaitingTimesAndMessages) {
  {
    TraceFile of_worker(folder() + "/trace", worker, "fast"), of_shard(folder() + "/trace", shard, "hub");
    of_worker.computed("round 0", 96, at(10), at(30));
    of_worker.said("push 4/1", shard, at(31));
    of_worker.computed("round 1", 90, at(50), at(80));
    of_shard.heard("push 4/1", worker, at(32));
    of_shard.busy("Push", at(32), at(35));
  }
  const Timeline timeline = timeline_of({folder()});  // the layout of a run directory
  EXPECT_THAT(timeline.notes, IsEmpty());
  const auto names = events(timeline, "M", "process_name");
  ASSERT_THAT(names, SizeIs(2));
  EXPECT_EQ(names[0]["args"]["name"], "hub (shard)");
  EXPECT_EQ(names[1]["args"]["name"], "fast (worker)");

  const auto waiting = events(timeline, "X", "waiting");
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting[0]["pid"], names[1]["pid"]);
  EXPECT_EQ(waiting[0]["ts"], 30'000);
  EXPECT_EQ(waiting[0]["dur"], 20'000);
  const auto computed = events(timeline, "X", "round 1");
  ASSERT_THAT(computed, SizeIs(1));
  EXPECT_EQ(computed[0]["args"]["samples"], 90);
  const auto busy = events(timeline, "X", "Push");
  ASSERT_THAT(busy, SizeIs(1));
  EXPECT_EQ(busy[0]["pid"], names[0]["pid"]);
  EXPECT_EQ(busy[0]["dur"], 3'000);

  const auto sent = events(timeline, "s"), received = events(timeline, "f");
  ASSERT_THAT(sent, SizeIs(1));
  ASSERT_THAT(received, SizeIs(1));
  EXPECT_EQ(sent[0]["id"], received[0]["id"]);
  EXPECT_EQ(sent[0]["ts"], 31'000);
  EXPECT_EQ(received[0]["ts"], 32'000);
  EXPECT_EQ(received[0]["pid"], names[0]["pid"]);
  EXPECT_THAT(timeline.times, testing::ContainsRegex("push, worker to shard +1 +1000.0 +1000.0\n"));
  EXPECT_THAT(timeline.times, testing::ContainsRegex("shard handles Push +1 +3000.0 +3000.0\n"));
}

TEST_F(TimelineTest, MessagesOfOneNameArePairedInOrder) {
  {
    TraceFile of_worker(folder(), worker, "fast"), of_shard(folder(), shard, "hub");
    for (const long ms : {1, 11}) of_worker.said("pull 3", shard, at(ms));
    of_worker.said("pull 4", shard, at(21));  // this message is lost
    for (const long ms : {2, 12}) of_shard.heard("pull 3", worker, at(ms));
  }
  const auto timeline = timeline_of({folder()});
  std::map<std::size_t, double> took;
  for (const auto& it : events(timeline, "s")) took[it["id"]] = -it["ts"].get<double>();
  for (const auto& it : events(timeline, "f")) took[it["id"]] += it["ts"].get<double>();
  EXPECT_THAT(took, ElementsAre(testing::Pair(testing::_, 1000), testing::Pair(testing::_, 1000)));
}

// The other machine's clock is 5 s ahead; messages take at least 1 ms there and 3 ms back.
TEST_F(TimelineTest, ClocksOfMachinesAreAligned) {
  folder_.write("a.jsonl",
                "{\"node\":\"scheduler\",\"name\":\"scheduler\",\"machine\":\"one\"}\n"
                "{\"said\":\"start 1\",\"peer\":\"worker-7\",\"at\":1000}\n"
                "{\"said\":\"start 2\",\"peer\":\"worker-7\",\"at\":9000}\n"
                "{\"heard\":\"report 1\",\"peer\":\"worker-7\",\"at\":8000}\n");
  folder_.write("b.jsonl",
                "{\"node\":\"worker-7\",\"name\":\"far\",\"machine\":\"two\"}\n"
                "{\"heard\":\"start 1\",\"peer\":\"scheduler\",\"at\":5002000}\n"
                "{\"heard\":\"start 2\",\"peer\":\"scheduler\",\"at\":5019000}\n"
                "{\"said\":\"report 1\",\"peer\":\"scheduler\",\"at\":5005000}\n");
  const Timeline timeline = timeline_of({folder() + "/a.jsonl", folder() + "/b.jsonl"});
  EXPECT_THAT(timeline.notes, ElementsAre("the machine of 'far': its clock is aligned within 2.000 ms"));
  const auto received = events(timeline, "f", "start 1");
  ASSERT_THAT(received, SizeIs(1));
  EXPECT_NEAR(received[0]["ts"].get<double>(), 2'000, 2'000);
  EXPECT_GT(received[0]["ts"].get<double>(), 1'000) << "no message arrives before it is sent";
}

TEST_F(TimelineTest, ATruncatedTraceIsReadUpToTheCut) {
  const std::string path = folder_
                               .write("a.jsonl",
                                      "{\"node\":\"worker-7\",\"name\":\"fast\",\"machine\":\"one\"}\n"
                                      "{\"busy\":\"Start\",\"from\":1,\"to\":2}\n{\"busy\":\"Par")
                               .string();
  const Timeline timeline = timeline_of({path});
  EXPECT_THAT(events(timeline, "X"), SizeIs(1));
  EXPECT_THAT(timeline.notes, ElementsAre(HasSubstr("a.jsonl:3: cut off there")));
}

TEST_F(TimelineTest, WithoutATraceTheErrorNamesTheOption) {
  folder_.write("rounds.jsonl", "{}\n");
  EXPECT_THAT([&] { timeline_of({folder()}); },
              testing::ThrowsMessage<Failure>(HasSubstr("train with --trace")));
  EXPECT_THROW(timeline_of({folder() + "/none.jsonl"}), Failure);
}

}  // namespace
}  // namespace steelyard::timeline_test
