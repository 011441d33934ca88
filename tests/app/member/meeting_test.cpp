// Where the tasks of a job meet.
#include "app/member/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"
#include "transport/security/key_files.h"

namespace steelyard::meeting_test {
namespace {

using testing::HasSubstr;

class MeetingTest : public testing::Test {
 protected:
  [[nodiscard]] Meeting meeting(bool insecure = false) const {
    return Meeting({folder_.path("meet"), "", "10.1.2.3", insecure});
  }
  [[nodiscard]] unsigned mode(const std::string& name) const {
    struct stat it {};
    EXPECT_EQ(stat(folder_.path(name).c_str(), &it), 0) << name;
    return it.st_mode & 0777U;
  }

  const TemporaryFolder folder_;
};

TEST_F(MeetingTest, OtherTasksFindWhatTheFirstHasWritten) {
  EXPECT_EQ(meeting().find(), std::nullopt);
  const Meeting::Place place = meeting().open();
  EXPECT_EQ(place.host, "10.1.2.3");
  EXPECT_NE(place.port, "");
  EXPECT_EQ(meeting().find(), place);
  meeting().close();
  EXPECT_EQ(meeting().find(), std::nullopt);
}

TEST_F(MeetingTest, OnlyTheOwnerCanReadWhatIsThere) {
  (void)meeting().open();
  EXPECT_EQ(mode("meet"), 0700U);
  EXPECT_EQ(mode("meet/scheduler"), 0600U);
  for (const char* role : {"scheduler", "server", "worker"})
    EXPECT_EQ(mode(std::string("meet/keys/") + role + ".key"), 0600U);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("meet"))) {
    EXPECT_TRUE(entry.path().filename() == "scheduler" || entry.path().filename() == "keys") << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 2U) << "no draft is left";
}

TEST_F(MeetingTest, TheKeysAreKept) {
  const Meeting::Place first = meeting().open();
  const std::string key = load_keys(first.keys, KeyRole::scheduler, "scheduler").own.public_key;
  const Meeting::Place next = meeting().open();
  EXPECT_EQ(load_keys(next.keys, KeyRole::scheduler, "scheduler").own.public_key, key);
}

TEST_F(MeetingTest, OnlyAContinuedSchedulerIsTheSameStart) {
  const Meeting::Place first = meeting().open();
  EXPECT_EQ(meeting().open(first.port), first);
  EXPECT_NE(meeting().open().start, first.start);
}

TEST_F(MeetingTest, WithoutEncryptionThereAreNoKeys) {
  EXPECT_EQ(meeting(true).open().keys, "");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("meet/keys")));
}

TEST_F(MeetingTest, AHalfWrittenFileIsNone) {
  folder_.write("meet/scheduler", "10.0.0.1:70");
  EXPECT_EQ(meeting().find(), std::nullopt);
  folder_.write("meet/scheduler", "");
  EXPECT_EQ(meeting().find(), std::nullopt);
}

TEST_F(MeetingTest, AnAddressNeedsNoFile) {
  const Meeting meeting({"10.0.0.1:7070", "/secret", "", false});
  const Meeting::Place place{"10.0.0.1", "7070", "/secret"};
  EXPECT_EQ(meeting.find(), place);
  EXPECT_EQ(meeting.open("1234"), place);
  EXPECT_EQ(meeting.listen(), "0.0.0.0");
  EXPECT_EQ(Meeting({"127.0.0.1:7070", "", "", false}).listen(), "127.0.0.1");
}

TEST_F(MeetingTest, ImpossiblePlacesAreRefused) {
  EXPECT_THAT(complaint_of([] { Meeting({"", "", "", false}); }), HasSubstr("--meet"));
  EXPECT_THAT(complaint_of([] { Meeting({"box:99999", "", "", false}); }), HasSubstr("99999"));
  EXPECT_THAT(complaint_of([] { Meeting({"box:7070", "keys", "", true}); }), HasSubstr("--insecure"));
  folder_.write("file", "");
  EXPECT_THAT(complaint_of([&] {
                (void)Meeting({folder_.path("file"), "", "", true}).open();
              }),
              HasSubstr("--meet"));
}

}  // namespace
}  // namespace steelyard::meeting_test
