#include "app/processes/status_logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/local.h"

namespace steelyard::status_logger_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr NodeId worker{Role::worker, 7}, shard{Role::shard, 8};

class StatusLoggerTest : public testing::Test {
 protected:
  StatusLoggerTest() {
    job_.name = "small";
    job_.workers = 3;
    job_.heartbeat_timeout = 0.02;
  }
  template <class Receiver, class Body>
  void deliver(NodeId to, Body body) {
    scheduler_->send({scheduler_node, to, Message(std::in_place_type<Receiver>, std::move(body))});
  }
  [[nodiscard]] auto collector() {
    return [this](const std::string& line) { lines_.push_back(line); };
  }

  Job job_;
  LocalNetwork network_;
  std::unique_ptr<Link> scheduler_ = network_.join(scheduler_node);
  std::vector<std::string> lines_;
};

TEST_F(StatusLoggerTest, AWorkerLogsItsJobItsWorkAndItsEnd) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", collector());
  EXPECT_THAT(lines_, IsEmpty());
  deliver<ToWorker>(worker, Welcome{1, 2, job_});
  ASSERT_TRUE(status_logger.receive(Time{}));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("job 'small'"), HasSubstr("'ada'"), HasSubstr("3 of 3"),
                                        HasSubstr("lenet5"), HasSubstr("cpu"))));
  status_logger.send({worker, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  status_logger.send({worker, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_THAT(lines_[1], HasSubstr("waiting for work"));
  Report report;
  report.piece.positions = {100, 400};
  status_logger.send({worker, scheduler_node, Message(std::in_place_type<ToScheduler>, report)});
  EXPECT_TRUE(scheduler_->receive(Time{})) << "every message is forwarded";
  ExitReason ending;
  ending.stopped({Outcome::finished, ""});
  status_logger.over(ending);
  EXPECT_THAT(lines_.back(), AllOf(HasSubstr("finished"), HasSubstr("300 samples")));
}

TEST_F(StatusLoggerTest, AWorkerLogsOnceWhatComputesItsModel) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cuda:0", collector());
  Ready ready;
  ready.computing = "micro-batches of up to 256 samples; direct: conv1; cudnn: conv2";
  for (int i = 0; i < 2; ++i)
    status_logger.send({worker, scheduler_node, Message(std::in_place_type<ToScheduler>, ready)});
  EXPECT_THAT(lines_,
              ElementsAre("computes with micro-batches of up to 256 samples; direct: conv1; cudnn: conv2",
                          HasSubstr("waiting for work")));
}

TEST_F(StatusLoggerTest, AWorkerLogsHowValuesAreExchanged) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", collector());
  Roster roster;
  roster.shards = {{shard, "ipc:///s", 0, 1, "hub"}};
  deliver<ToWorker>(worker, roster);
  ASSERT_TRUE(status_logger.receive(Time{}));
  status_logger.exchange(shard, Exchanged::lent);
  status_logger.exchange(shard, Exchanged::sent);
  status_logger.exchange(shard, Exchanged::lent_on_devices);
  status_logger.exchange({Role::shard, 9}, Exchanged::sent);
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("server 'hub'"), HasSubstr("shared memory")),
                                  AllOf(HasSubstr("server 'hub'"), HasSubstr("sockets")),
                                  AllOf(HasSubstr("server 'hub'"), HasSubstr("memory of GPUs")),
                                  HasSubstr("shard-9")));
}

TEST_F(StatusLoggerTest, AWorkerLogsUnreachableServersAndTheReason) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", collector());
  Roster roster;
  roster.shards = {{shard, "tcp://s:1", 0, 1, "hub"}};
  deliver<ToWorker>(worker, roster);
  link->post({{link_node, worker,
               Message(std::in_place_type<ToWorker>, Unreachable{shard, "tcp://s:1", "no key"})}});
  while (status_logger.receive(Time{})) continue;
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("server 'hub'"), HasSubstr("no key"))));
}

TEST_F(StatusLoggerTest, AServerLogsItsFirstPush) {
  const auto link = network_.join(shard);
  StatusLogger status_logger(*link, "s0", "", collector());
  deliver<ToShard>(shard, Welcome{1, 0, job_});
  deliver<ToShard>(shard, Push{});
  EXPECT_TRUE(status_logger.receive(Time{}) && status_logger.receive(Time{}));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("shard 1 of 1"), "at work"));
}

TEST_F(StatusLoggerTest, ASilentSchedulerIsLoggedOnce) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", collector());
  deliver<ToWorker>(worker, Welcome{1, 0, job_});
  ASSERT_TRUE(status_logger.receive(Time{}));
  lines_.clear();
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(status_logger.receive(steady_now() + milliseconds(30)));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("nothing from the scheduler"))) << "once";
  deliver<ToWorker>(worker, SchedulerBeat{1});
  ASSERT_TRUE(status_logger.receive(Time{}));
  EXPECT_THAT(lines_.back(), HasSubstr("answers again"));
}

TEST_F(StatusLoggerTest, TheWaitForTheSchedulerIsLogged) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", collector(), {from_seconds(60), milliseconds(20)});
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(status_logger.receive(steady_now() + milliseconds(30)));
  EXPECT_THAT(lines_,
              ElementsAre(AllOf(HasSubstr("no answer from the scheduler yet"), HasSubstr("of 60.0 s")),
                          HasSubstr("no answer from the scheduler yet")));
  deliver<ToWorker>(worker, Welcome{1, 0, job_});
  ASSERT_TRUE(status_logger.receive(Time{}));
  lines_.clear();
  EXPECT_FALSE(status_logger.receive(steady_now() + milliseconds(30)));
  EXPECT_THAT(lines_, Not(testing::Contains(HasSubstr("no answer from the scheduler yet"))));
}

TEST_F(StatusLoggerTest, AProcessThatWasStoppedDoesNotBlameTheScheduler) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", collector());
  deliver<ToWorker>(worker, Welcome{1, 0, job_});
  ASSERT_TRUE(status_logger.receive(Time{}));
  lines_.clear();
  EXPECT_FALSE(status_logger.receive(steady_now() + milliseconds(-1000)))
      << "it is so late that it checks again";
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(StatusLoggerTest, AProcessThatNeverJoinedLogsNothing) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", collector());
  EXPECT_FALSE(status_logger.receive(Time{}));
  ExitReason ending;
  ending.out_of_reach();
  status_logger.over(ending);
  EXPECT_THAT(lines_, IsEmpty()) << "the role reports the reason";
}

}  // namespace
}  // namespace steelyard::status_logger_test
