// The journal of a killed scheduler, as its successor reads it.
#include "app/processes/recovered_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/processes/journal_file.h"
#include "core/error.h"
#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::recovered_run_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RecoveredRunTest : public testing::Test {
 protected:
  void leave(JournalHead head) {
    std::vector<std::byte> bytes;
    append(bytes, {Time{}, std::move(head)});
    const JournalFile journal(run_.journal(), bytes);
  }
  static JournalHead head() {
    Job job;
    job.name = "left";
    Progress from;
    from.term = 5;
    return journal_head(
        job, from,
        {"tcp://127.0.0.1:7070",
         "[job]",
         "checkpoints/3",
         {"npy", 100, "abc", 10, {1, 2}, {3, 4}, 28, 29, 3, 10, {"cat"}, {"height"}, {"linear"}},
         11,
         12,
         key,
         {},
         "/runs/left-0"});
  }

  static constexpr const char* key = "the key of the scheduler";
  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::create((folder_.path() / "run").string());
};

TEST_F(RecoveredRunTest, HasAPlaceAndAJob) {
  EXPECT_FALSE(left_by_killed(run_)) << "no job was started";
  leave(head());
  const Killed killed = left_by_killed(run_).value();
  EXPECT_EQ(killed.job.name, "left");
  EXPECT_EQ(killed.from.term, 5U);
  EXPECT_EQ(killed.head_bytes, killed.journal.size());
  EXPECT_EQ(killed.place.listen, "tcp://127.0.0.1:7070");
  EXPECT_EQ(killed.place.checkpoint, "checkpoints/3");
  EXPECT_EQ(
      killed.place.source,
      (SampleSource{"npy", 100, "abc", 10, {1, 2}, {3, 4}, 28, 29, 3, 10, {"cat"}, {"height"}, {"linear"}}));
  EXPECT_EQ(killed.place.rounds_bytes, 11U);
  EXPECT_EQ(killed.place.events_bytes, 12U);
  EXPECT_EQ(killed.place.key, key);
  EXPECT_EQ(without_values(killed).fingerprint, fingerprint(killed.job));
}

TEST_F(RecoveredRunTest, OnAnotherMachineTheRecordRestarts) {
  leave(moved(head(), "tcp://10.0.0.2:7070"));
  const Killed killed = left_by_killed(run_).value();
  EXPECT_EQ(killed.job.name, "left");
  EXPECT_EQ(killed.from.term, 5U);
  EXPECT_EQ(killed.place.listen, "tcp://10.0.0.2:7070");
  EXPECT_EQ(
      killed.place.source,
      (SampleSource{"npy", 100, "abc", 10, {1, 2}, {3, 4}, 28, 29, 3, 10, {"cat"}, {"height"}, {"linear"}}));
  EXPECT_EQ(killed.place.rounds_bytes + killed.place.events_bytes, 0U);
  EXPECT_EQ(job_text_in(head()), "[job]");
}

// The members know their scheduler by its key, and accept no other.
TEST_F(RecoveredRunTest, AnotherKeyIsRefused) {
  leave(head());
  const SchedulersPlace place = left_by_killed(run_).value().place;
  EXPECT_EQ(complaint_of([&] { require_key(place, key, "the run"); }), "");
  EXPECT_EQ(complaint_of([&] { require_key(head(), key, "the run"); }), "");
  EXPECT_THAT(complaint_of([&] { require_key(place, "another", "the run"); }),
              AllOf(HasSubstr("the run"), HasSubstr(key), HasSubstr("'another'"), HasSubstr("same --keys")));
  EXPECT_THAT(complaint_of([&] { require_key(head(), "", "the run"); }), HasSubstr(key));
  EXPECT_THAT(complaint_of([&] { require_key(SchedulersPlace{}, "another", "the run"); }),
              HasSubstr("leave --keys out"));
}

TEST_F(RecoveredRunTest, OnAnotherMachineTheEarlierRecordsAreNamed) {
  leave(moved(head(), "tcp://10.0.0.2:7070"));
  Killed killed = left_by_killed(run_).value();
  EXPECT_THAT(killed.place.former, AllOf(HasSubstr("/runs/left-0"), HasSubstr("tcp://127.0.0.1:7070")));
  killed.place.run = "/runs/second";
  killed.place.rounds_bytes = 5;
  leave(moved(journal_head(killed.job, killed.from, killed.place), "tcp://10.0.0.3:7070"));
  EXPECT_THAT(left_by_killed(run_)->place.former,
              AllOf(HasSubstr("/runs/second of the scheduler at tcp://10.0.0.2:7070"),
                    HasSubstr("before that, in /runs/left-0 of the scheduler at tcp://127.0.0.1:7070")));
}

TEST_F(RecoveredRunTest, BeforeTheFirstRoundNoEarlierRecordIsNamed) {
  Killed killed;
  killed.place.events_bytes = 7;
  killed.place.source = {"npy", 1, "a", 1, {1}, {1}};
  leave(moved(journal_head({}, {}, killed.place), "tcp://10.0.0.2:7070"));
  EXPECT_EQ(left_by_killed(run_)->place.former, "");
}

// Restarting the job would discard its training.
TEST_F(RecoveredRunTest, AnAbandonedJournalIsNotAFreshJob) {
  leave(head());
  {
    JournalFile full(run_.journal(), 0, 0);
    (void)full.write(std::vector<std::byte>(1));
  }
  try {
    (void)left_by_killed(run_);
    FAIL() << "an empty journal was accepted as a missing one";
  } catch (const Failure& refused) {
    EXPECT_EQ(refused.code(), ExitCode::unreachable);
    EXPECT_THAT(refused.what(), AllOf(HasSubstr(run_.journal()), HasSubstr("--resume")));
  }
}

// A kill may cut off the last record. A complete record was already answered, so damage to it is an error.
TEST_F(RecoveredRunTest, ADamagedJournalIsRefused) {
  std::vector<std::byte> bytes;
  append(bytes, {Time{}, head()});
  const std::size_t whole = bytes.size();
  append(bytes, {Time{}, Woken{}});
  bytes.back() ^= std::byte{1};
  { const JournalFile journal(run_.journal(), bytes); }
  try {
    (void)left_by_killed(run_);
    FAIL() << "a damaged journal was accepted as a cut-off one";
  } catch (const Failure& refused) {
    EXPECT_EQ(refused.code(), ExitCode::io);
    EXPECT_THAT(refused.what(), AllOf(HasSubstr("byte " + std::to_string(whole)), HasSubstr("--resume")));
  }
  bytes.pop_back();
  { const JournalFile journal(run_.journal(), bytes); }
  EXPECT_TRUE(left_by_killed(run_)) << "only its end is missing";
}

TEST_F(RecoveredRunTest, AJournalOfAnotherBuildIsRefused) {
  JournalHead other = head();
  other.build += "x";
  leave(other);
  EXPECT_THAT(complaint_of([&] { (void)left_by_killed(run_); }),
              AllOf(HasSubstr("another build"), HasSubstr("x'; this is 'steelyard "), HasSubstr("--resume"),
                    HasSubstr(run_.journal())));
}

TEST_F(RecoveredRunTest, AJournalFromBeforeARebootIsRefused) {
  JournalHead other = head();
  const std::size_t at = other.remarks.find("boot");
  other.remarks[at + 8] = 'x';
  leave(other);
  EXPECT_THAT(complaint_of([&] { (void)left_by_killed(run_); }),
              HasSubstr("before this machine was started"));
}

}  // namespace
}  // namespace steelyard::recovered_run_test
