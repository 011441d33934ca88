#include "app/launch/remote_host.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/support/complaint.h"
#include "tests/support/process_run.h"

namespace steelyard::host_door_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Time at(double s) { return Time{from_seconds(s)}; }

class HostDoorTest : public testing::Test {
 protected:
  static LaunchPlan plan() {
    LaunchPlan plan;
    for (const char* name : {"lion", "ant"}) plan.hosts.emplace_back().spec.name = name;
    plan.processes = {{"scheduler", "lion", Role::scheduler, {}, ""}, {"ada", "ant", Role::worker, {}, ""}};
    return plan;
  }
  HostDoor door(const HostLimits& limits = {}) {
    return HostDoor(
        plan_, "ant", run_, [this](const std::string& text) { warnings_.push_back(text); }, limits);
  }
  [[nodiscard]] std::uintmax_t size(const std::string& log) const { return fs::file_size(run_.log(log)); }

  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::create((folder_.path() / "run").string());
  const LaunchPlan plan_ = plan();
  std::vector<std::string> warnings_;
};

TEST_F(HostDoorTest, AcceptsMessagesAboutItsOwnProcesses) {
  HostDoor it = door();
  EXPECT_TRUE(it.take(HostReady{1, "x"}, at(0)));
  EXPECT_TRUE(it.take(Said{"ada", false, "loss 3"}, at(0)));
  EXPECT_TRUE(it.take(ProcessEnded{"ada", 0}, at(0)));
  it.flush(at(1));
  EXPECT_EQ(text_of(run_.log("ada")), "loss 3\n");
  EXPECT_EQ(it.refused(), 0U);
  it.close();
  EXPECT_THAT(warnings_, IsEmpty());
}

// Including processes of other hosts: a worker's machine cannot report the scheduler's exit.
TEST_F(HostDoorTest, RefusesOtherNamesAndWarnsOnce) {
  HostDoor it = door();
  for (const char* name : {"scheduler", "", "../ada", "ada/../ada", "host-ant", "\x1b[2J"}) {
    EXPECT_FALSE(it.take(Said{name, true, "x"}, at(0))) << name;
    EXPECT_FALSE(it.take(ProcessEnded{name, 0}, at(0))) << name;
  }
  it.flush(at(1));
  EXPECT_TRUE(fs::is_empty(run_.path() + "/log"));
  EXPECT_EQ(it.refused(), 12U);
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("host 'ant'"), HasSubstr("process 'scheduler'"))));
  it.close();
  ASSERT_THAT(warnings_, SizeIs(2));
  EXPECT_THAT(warnings_[1], HasSubstr("12 lines"));
}

TEST_F(HostDoorTest, NamesInWarningsAreEscaped) {
  HostDoor it = door();
  EXPECT_FALSE(it.take(Said{"\x1b[2J" + std::string(100'000, 'x'), true, "x"}, at(0)));
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr("\\x1b[2J"), Not(HasSubstr("\x1b"))));
  EXPECT_LT(warnings_[0].size(), 500U);
}

TEST_F(HostDoorTest, AFullLogWarnsOnceAndStopsGrowing) {
  HostDoor it = door({.bytes = 1000});
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(it.take(Said{"ada", false, "twenty letters, all ."}, at(i)));
  it.flush(at(5000));
  EXPECT_LT(size("ada"), 1200U);
  EXPECT_GT(size("ada"), 900U);
  EXPECT_THAT(text_of(run_.log("ada")),
              HasSubstr("\nsteelyard: this log has reached its limit of 1000 bytes"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr(run_.log("ada"))));
}

TEST_F(HostDoorTest, EarlierContentsCountTowardsTheLimit) {
  { std::ofstream(run_.log("ada")) << std::string(999, 'x') << '\n'; }
  HostDoor it = door({.bytes = 1000});
  it.take(Said{"ada", false, "another line"}, at(0));
  it.flush(at(1));
  EXPECT_THAT(text_of(run_.log("ada")), Not(HasSubstr("another line")));
  EXPECT_LT(size("ada"), 1200U);
}

TEST_F(HostDoorTest, LinesBeyondTheRateLimitAreDroppedAndCounted) {
  HostDoor it = door({.lines_a_minute = 3});
  const auto taken = [&](double second) { return it.take(Said{"ada", false, "a line"}, at(second)); };
  for (const double second : {100.0, 101.0, 102.0}) EXPECT_TRUE(taken(second));
  for (const double second : {103.0, 104.0}) EXPECT_FALSE(taken(second));
  EXPECT_TRUE(taken(170)) << "in the next minute";
  it.flush(at(171));
  EXPECT_EQ(text_of(run_.log("ada")),
            "a line\na line\na line\nsteelyard: 2 lines of a minute were dropped\na line\n");
  for (int i = 0; i < 100; ++i) taken(172);
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("process 'ada'"), HasSubstr("3 lines a minute"))));
}

// The output of ssh or of a login shell is limited too.
TEST_F(HostDoorTest, OtherLinesGoToTheLogOfTheHost) {
  HostDoor it = door({.bytes = 10'000, .lines_a_minute = 100});
  for (int i = 0; i < 100'000; ++i) it.other("Welcome!", at(100));
  it.flush(at(101));
  EXPECT_EQ(size("host-ant"), 900U);
}

TEST_F(HostDoorTest, LongLinesAreTruncated) {
  HostDoor it = door();
  it.take(Said{"ada", false, std::string(longest_said + 5, 'x')}, at(0));
  it.flush(at(1));
  EXPECT_EQ(size("ada"), longest_said + 1);
}

TEST_F(HostDoorTest, LogsAreNotOpenedThroughLinks) {
  const std::string outside = folder_.path("outside.log");
  fs::create_symlink(outside, run_.log("ada"));
  HostDoor it = door();
  EXPECT_THAT(complaint_of([&] { it.open_log("ada"); }),
              AllOf(HasSubstr(run_.log("ada")), HasSubstr("symbolic link")));
  EXPECT_THROW(it.take(Said{"ada", false, "x"}, at(0)), Failure);
  EXPECT_FALSE(fs::exists(outside));
}

}  // namespace
}  // namespace steelyard::host_door_test
