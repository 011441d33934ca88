#include "app/report/recorder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace steelyard::recorder_thread_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Simulates a hung file system: rounds.jsonl is a pipe that buffers 64 KB until the test reads it.
class RecorderThreadTest : public ::testing::Test {
 protected:
  RecorderThreadTest() {
    file_ = parse_job("[train]\nbatch = 100\nepochs = 4\n[[worker]]\n", "j.toml");
    set_samples(file_.job, 1000, 500);
    EXPECT_EQ(::mkfifo(run_.rounds().c_str(), 0600), 0);
    pipe_ = ::open(run_.rounds().c_str(), O_RDWR | O_CLOEXEC);
  }
  ~RecorderThreadTest() override { ::close(pipe_); }

  static RoundRecord a_round(Round round) {
    RoundRecord r;
    r.round = round;
    r.positions = {0, 100};
    r.seconds = 0.1;
    r.parts = {{0, "ada", 100, 0.1}};
    return r;
  }
  static Time at(Round round) { return Time{from_seconds(static_cast<double>(round))}; }

  // The rounds in the pipe, in order, up to `last`.
  [[nodiscard]] std::vector<Round> read_rounds(Round last) const {
    const std::string sought = "\"round\":" + std::to_string(last) + ",";
    std::string text;
    std::array<char, 4096> part{};
    while (text.find(sought) == std::string::npos || !text.ends_with('\n')) {
      const ssize_t got = ::read(pipe_, part.data(), part.size());
      if (got <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    std::vector<Round> rounds;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) rounds.push_back(nlohmann::json::parse(line)["round"]);
    return rounds;
  }

  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::create(folder_.path("run"));
  int pipe_ = -1;
  JobFile file_;
  std::ostringstream out_;
  ProgressBar bar_{out_, {false, false, 80}};
};

// 1,000 rounds are about 200 KB of lines, more than the pipe holds.
TEST_F(RecorderThreadTest, SendersNeverBlockAndNoRoundIsLost) {
  Recorder recorder(file_, run_, bar_);
  RecorderThread thread(recorder);
  for (Round k = 0; k < 1000; ++k) thread.tell(a_round(k), at(k));
  thread.tell(Ended{Outcome::finished, "", {}}, at(1000));
  const std::vector<Round> rounds = read_rounds(999);
  thread.finish();
  ASSERT_EQ(rounds.size(), 1000U);
  for (Round k = 0; k < 1000; ++k) EXPECT_EQ(rounds[k], k);
  EXPECT_EQ(recorder.verdict().rounds, 1000U);
  EXPECT_EQ(recorder.verdict().outcome, Outcome::finished);
  EXPECT_THAT(recorder.summary(), Not(HasSubstr("warning")));
}

TEST_F(RecorderThreadTest, AViewContainsAllMessagesSentBeforeIt) {
  Recorder recorder(file_, run_, bar_);
  RecorderThread thread(recorder);
  const auto rounds_recorded = [&] {
    return std::vector<std::byte>{static_cast<std::byte>(recorder.verdict().rounds)};
  };
  const auto look = [&] {
    auto seen = thread.seen_by(rounds_recorded);
    while (!seen) {
      std::this_thread::yield();
      seen = thread.seen_by(rounds_recorded);
    }
    return static_cast<int>(seen->at(0));
  };
  EXPECT_EQ(look(), 0);
  for (Round k = 0; k < 3; ++k) thread.tell(a_round(k), at(k));
  (void)thread.seen_by(rounds_recorded);
  thread.tell(a_round(3), at(3));
  EXPECT_EQ(look(), 4) << "a view from before round 3 is outdated";
  EXPECT_EQ(look(), 4);
}

TEST_F(RecorderThreadTest, ViewsDoNotBlockOnAHungDisk) {
  Recorder recorder(file_, run_, bar_);
  RecorderThread thread(recorder);
  for (Round k = 0; k < 1000; ++k) thread.tell(a_round(k), at(k));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(thread.seen_by([] { return std::vector<std::byte>(); }));
  EXPECT_EQ(read_rounds(999).size(), 1000U);
}

TEST_F(RecorderThreadTest, RoundsBeyondTheLimitAreDroppedAndReported) {
  Recorder recorder(file_, run_, bar_);
  RecorderThread thread(recorder, 100);  // each round with one worker counts as two
  for (Round k = 0; k < 2000; ++k) thread.tell(a_round(k), at(k));
  RoundRecord evaluation = a_round(2000);
  evaluation.purpose = Purpose::evaluate;
  evaluation.accuracy = 0.75;
  thread.tell(evaluation, at(2000));
  thread.tell(Ended{Outcome::finished, "", {}}, at(2001));
  const std::vector<Round> rounds = read_rounds(2000);
  thread.finish();
  EXPECT_LT(rounds.size(), 2000U);
  EXPECT_EQ(recorder.verdict().accuracy, 0.75);
  EXPECT_EQ(recorder.verdict().rounds, rounds.size() - 1);
  EXPECT_THAT(
      recorder.summary(),
      HasSubstr("could not be written for a long time: " + std::to_string(2001 - rounds.size()) + " rounds"));
}

}  // namespace
}  // namespace steelyard::recorder_thread_test
