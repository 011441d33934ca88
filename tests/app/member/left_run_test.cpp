// How a job goes on in a run directory.
#include "app/member/left_run.h"

#include <gtest/gtest.h>

#include "app/processes/journal_file.h"
#include "app/processes/recovered_run.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::left_run_test {
namespace {

class LeftRunTest : public testing::Test {
 protected:
  void leave_journal(const std::string& key = "") {
    SchedulersPlace place;
    place.listen = "tcp://0.0.0.0:4711";
    place.key = key;
    std::vector<std::byte> bytes;
    append(bytes, {Time{}, journal_head(Job{}, Progress{}, place)});
    const JournalFile journal(run_.journal(), bytes);
  }
  void leave_job() { folder_.write("run/job.toml", "[job]\n"); }
  void leave_result(int code) {
    Verdict verdict;
    verdict.outcome = code == 0 ? Outcome::finished : Outcome::interrupted;
    write_text(run_.result(), verdict_json(verdict));
  }

  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::share(folder_.path("run"));
};

TEST_F(LeftRunTest, AnEmptyDirectoryIsForANewJob) {
  EXPECT_EQ(left_in(run_, "", true).again, Again::anew);
  EXPECT_EQ(ended_with(run_), std::nullopt);
}

TEST_F(LeftRunTest, TheJournalIsOfUseWhileServersMayLive) {
  leave_job();
  leave_journal();
  const LeftRun left = left_in(run_, "", true);
  EXPECT_EQ(left.again, Again::recover);
  EXPECT_EQ(left.port, "4711");
  EXPECT_EQ(left_in(run_, "", false).again, Again::anew) << "there is no checkpoint either";
}

TEST_F(LeftRunTest, AJournalOfAnotherKeyIsOfNoUse) {
  leave_job();
  leave_journal("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7");
  EXPECT_EQ(left_in(run_, "", true).again, Again::anew);
}

TEST_F(LeftRunTest, AJobThatWasStoppedIsResumed) {
  leave_job();
  leave_journal();
  leave_result(75);
  EXPECT_EQ(ended_with(run_), 75);
  EXPECT_EQ(left_in(run_, "", true).again, Again::anew) << "it had no checkpoint";
}

TEST_F(LeftRunTest, AFinishedJobIsKnown) {
  leave_job();
  leave_result(0);
  EXPECT_EQ(ended_with(run_), 0);
}

TEST_F(LeftRunTest, ARecordOfAnotherProgramIsIgnored) {
  folder_.write("run/result.json", "{\"exit_code\": \"none\"}");
  EXPECT_EQ(ended_with(run_), std::nullopt);
  folder_.write("run/result.json", "half");
  EXPECT_EQ(ended_with(run_), std::nullopt);
}

}  // namespace
}  // namespace steelyard::left_run_test
