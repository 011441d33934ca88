// Two releases with different protocol versions: a process of the other release is refused and exits, and the
// job continues. steelyard_other is this program with another protocol version.
#include <gmock/gmock.h>

#include <csignal>
#include <memory>

#include "protocol/codec.h"
#include "protocol/journal.h"
#include "tests/support/process_run.h"

namespace steelyard::process_version_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string other = "steelyard_other";

class ProcessVersion : public ProcessTest {
 protected:
  [[nodiscard]] std::string endpoint() const { return "ipc://" + path("scheduler"); }

  [[nodiscard]] std::unique_ptr<Process> scheduler(const std::string& program) const {
    return std::make_unique<Process>(
        path("scheduler.log"),
        std::vector<std::string>{"scheduler", job_, "--listen", endpoint(), "--run-dir", path("run"), "--set",
                                 "train.epochs=0", "--set", "train.seconds=3"},
        std::function<void()>(), program);
  }
  [[nodiscard]] std::unique_ptr<Process> start(const std::string& role, const std::string& name,
                                               const std::string& program) const {
    return std::make_unique<Process>(
        path(name + ".log"), std::vector<std::string>{role, "--scheduler", endpoint(), "--name", name},
        std::function<void()>(), program);
  }
  // Processes of the program `theirs` try to join a scheduler of `ours`, before and during training. Each is
  // refused, and the training completes.
  void strangers_are_refused(const std::string& ours, const std::string& theirs) {
    const auto leader = scheduler(ours);
    refused(*leader, theirs, 1);
    std::vector<std::unique_ptr<Process>> members;
    for (const char* name : {"s0", "s1"}) members.push_back(start("server", name, ours));
    for (const char* name : {"ada", "bob"}) members.push_back(start("worker", name, ours));
    ASSERT_TRUE(eventually(
        [&] { return text_of(path("run/rounds.jsonl")).find("\"round\":9,") != std::string::npos; }));
    refused(*leader, theirs, 2);
    ends_clean(*leader, 0);
    for (const auto& run : members) ends_clean(*run, 0);
    EXPECT_GT(accuracy("run"), 0.9);
  }

 private:
  // A worker and a server try to join, for the n-th time.
  void refused(const Process& leader, const std::string& theirs, std::size_t n) {
    for (const std::string role : {"worker", "server"}) {
      const auto stranger = start(role, "odd-" + role, theirs);
      ends_clean(*stranger, 76);
      EXPECT_THAT(stranger->output(),
                  AllOf(HasSubstr("steelyard " + role + ": refused: the "), HasSubstr(" uses protocol "),
                        HasSubstr(" another: use the same release everywhere")));
      const std::string refusal = role == "worker" ? "refused worker-" : "refused shard-";
      EXPECT_TRUE(eventually([&] { return count(leader.output(), refusal) == n; })) << leader.output();
    }
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
};

TEST_F(ProcessVersion, VersionPrintsTheProtocolVersion) {
  Process ours(path("ours.log"), {"--version"});
  Process theirs(path("theirs.log"), {"--version"}, {}, other);
  ends_clean(ours, 0);
  ends_clean(theirs, 0);
  EXPECT_TRUE(ours.says(", protocol " + std::to_string(protocol_version) + ", journal " +
                        std::to_string(journal_version) + ", "))
      << ours.output();
  EXPECT_TRUE(theirs.says(", protocol 65535, ")) << theirs.output();
}

TEST_F(ProcessVersion, AnotherReleaseIsRefused) { strangers_are_refused("steelyard", other); }

TEST_F(ProcessVersion, AnotherReleaseRefusesThisOne) { strangers_are_refused(other, "steelyard"); }

}  // namespace
}  // namespace steelyard::process_version_test
