#include "transport/security/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::trust_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TrustTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_key(directory_, own_);
    write_allowed(directory_, list_);
  }
  [[nodiscard]] std::unique_ptr<Trust> trust() {
    return std::make_unique<Trust>(load_keys(directory_, own_.role, own_.name),
                                   [this](const std::string& line) { lines_.push_back(line); });
  }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path("keys");
  const KeyPair own_ = make_key(KeyRole::server, "s0");
  const std::string hub_ = make_key(KeyRole::scheduler, "hub").public_key;
  const std::string ada_ = make_key(KeyRole::worker, "ada").public_key;
  AllowList list_{{hub_, {KeyRole::scheduler, "hub"}}, {ada_, {KeyRole::worker, "ada"}}};
  std::vector<std::string> lines_;
};

TEST_F(TrustTest, ARevokedKeyIsRemovedFromTheList) {
  const auto it = trust();
  EXPECT_TRUE(it->allowed()->contains(ada_));
  it->look();
  EXPECT_THAT(lines_, SizeIs(0)) << "nothing has changed";
  list_.erase(ada_);
  write_allowed(directory_, list_);
  it->look();
  it->look();
  EXPECT_FALSE(it->allowed()->contains(ada_));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("the allow-list has changed: 1 keys")));
}

// A mistake in the list must not end a run, and is reported once.
TEST_F(TrustTest, AnUnreadableListLeavesThePreviousOne) {
  const auto it = trust();
  folder_.write("keys/allowed", std::string_view("worker ada\n"));
  for (int looks = 0; looks < 4; ++looks) it->look();
  EXPECT_TRUE(it->allowed()->contains(ada_));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("the previous allow-list stays in effect")));
  std::filesystem::remove(directory_ + "/allowed");
  for (int looks = 0; looks < 4; ++looks) it->look();
  EXPECT_TRUE(it->allowed()->contains(ada_));
  EXPECT_THAT(lines_, SizeIs(2));
}

// If an editor or scp writes in place, the list is empty for a short time.
TEST_F(TrustTest, AListIsReadOnlyWhenStable) {
  const auto it = trust();
  folder_.write("keys/allowed", std::string_view());
  it->look();
  EXPECT_TRUE(it->allowed()->contains(ada_));
  write_allowed(directory_, list_);
  for (int looks = 0; looks < 2; ++looks) it->look();
  EXPECT_TRUE(it->allowed()->contains(ada_));
  list_.erase(ada_);
  write_allowed(directory_, list_);
  for (int looks = 0; looks < 2; ++looks) it->look();
  EXPECT_FALSE(it->allowed()->contains(ada_)) << "a stable list is read";
}

TEST_F(TrustTest, AChangeBetweenLoadingAndWatchingIsNotMissed) {
  Keys keys = load_keys(directory_, own_.role, own_.name);
  list_.erase(ada_);
  write_allowed(directory_, list_);
  const Trust it(std::move(keys), [](const std::string&) {});
  EXPECT_FALSE(it.allowed()->contains(ada_));
}

TEST_F(TrustTest, ExactlyOneSchedulerMayBeListed) {
  EXPECT_EQ(trust()->scheduler_key(), hub_);
  list_.emplace(make_key(KeyRole::scheduler, "other").public_key, Allowed{KeyRole::scheduler, "other"});
  write_allowed(directory_, list_);
  EXPECT_THROW((void)trust()->scheduler_key(), Failure);
  write_allowed(directory_, {});
  EXPECT_THROW((void)trust()->scheduler_key(), Failure);
}

TEST_F(TrustTest, ARefusalIsReportedOnceWithARemedy) {
  const auto it = trust();
  const std::string stranger = make_key(KeyRole::worker, "x").public_key;
  for (int i = 0; i < 100; ++i) it->refused(stranger, "10.0.0.9");
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("10.0.0.9"));
  EXPECT_THAT(lines_[0], HasSubstr("steelyard keys add " + directory_ + " ROLE NAME '" + stranger + "'"));
  for (int i = 0; i < 100; ++i) it->refused(stranger + std::to_string(i), "10.0.0.9");
  EXPECT_LT(lines_.size(), 40U) << "many unknown keys must not fill the disk";
}

TEST_F(TrustTest, NewRefusalsAreReportedAfterAMinute) {
  const auto it = trust();
  const Time begin = steady_now();
  for (int i = 0; i < 100'000; ++i) it->refused(std::to_string(i), "10.0.0.9", begin);
  const std::size_t of_a_minute = lines_.size();
  EXPECT_LT(of_a_minute, 40U);
  it->refused("0", "10.0.0.9", begin + from_seconds(61));
  EXPECT_EQ(lines_.size(), of_a_minute) << "this key has been reported";
  it->refused("another", "10.0.0.9", begin + from_seconds(61));
  ASSERT_EQ(lines_.size(), of_a_minute + 1);
  EXPECT_THAT(lines_.back(), HasSubstr("another"));
}

// A key refused under one list is reported again under the next.
TEST_F(TrustTest, ANewListReportsRefusalsAgain) {
  const auto it = trust();
  it->refused("x", "10.0.0.9");
  list_.erase(ada_);
  write_allowed(directory_, list_);
  for (int looks = 0; looks < 2; ++looks) it->look();
  it->refused("x", "10.0.0.9");
  EXPECT_THAT(lines_, SizeIs(3));
}

}  // namespace
}  // namespace steelyard::trust_test
