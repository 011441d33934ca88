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

constexpr NodeId worker{Role::worker, 7}, shard{Role::shard, 8};

class StatusLoggerTest : public testing::Test {
 protected:
  StatusLoggerTest() {
    job_.name = "small";
    job_.workers = 3;
    job_.heartbeat_timeout = 0.02;
  }
  template <class Receiver, class Said>
  void tell(NodeId to, Said said) {
    scheduler_->send({scheduler_node, to, Message(std::in_place_type<Receiver>, std::move(said))});
  }
  [[nodiscard]] auto sayer() {
    return [this](const std::string& line) { said_.push_back(line); };
  }

  Job job_;
  LocalNetwork network_;
  std::unique_ptr<Link> scheduler_ = network_.join(scheduler_node);
  std::vector<std::string> said_;
};

TEST_F(StatusLoggerTest, AWorkerTellsWhatItJoinedWhatItDoesAndHowItEnded) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", sayer());
  EXPECT_THAT(said_, IsEmpty());
  tell<ToWorker>(worker, Welcome{1, 2, job_});
  ASSERT_TRUE(status_logger.receive(Time{}));
  EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("job 'small'"), HasSubstr("'ada'"), HasSubstr("3 of 3"),
                                       HasSubstr("lenet5"), HasSubstr("cpu"))));
  status_logger.send({worker, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  status_logger.send({worker, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_THAT(said_[1], HasSubstr("waiting for work"));
  Report report;
  report.piece.positions = {100, 400};
  status_logger.send({worker, scheduler_node, Message(std::in_place_type<ToScheduler>, report)});
  EXPECT_TRUE(scheduler_->receive(Time{})) << "everything is passed on";
  ExitReason ending;
  ending.stopped({Outcome::finished, ""});
  status_logger.over(ending);
  EXPECT_THAT(said_.back(), AllOf(HasSubstr("finished"), HasSubstr("300 samples")));
}

TEST_F(StatusLoggerTest, AWorkerTellsWhichWayValuesGo) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", sayer());
  Roster roster;
  roster.shards = {{shard, "ipc:///s", 0, 1, "hub"}};
  tell<ToWorker>(worker, roster);
  ASSERT_TRUE(status_logger.receive(Time{}));
  status_logger.exchange(shard, true);
  status_logger.exchange(shard, false);
  status_logger.exchange({Role::shard, 9}, false);
  EXPECT_THAT(said_,
              ElementsAre(AllOf(HasSubstr("server 'hub'"), HasSubstr("shared memory")),
                          AllOf(HasSubstr("server 'hub'"), HasSubstr("sockets")), HasSubstr("shard-9")));
}

TEST_F(StatusLoggerTest, AWorkerTellsWhichServerItCannotReachAndWhy) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", sayer());
  Roster roster;
  roster.shards = {{shard, "tcp://s:1", 0, 1, "hub"}};
  tell<ToWorker>(worker, roster);
  link->post({{link_node, worker,
               Message(std::in_place_type<ToWorker>, Unreachable{shard, "tcp://s:1", "no key"})}});
  while (status_logger.receive(Time{})) continue;
  EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("server 'hub'"), HasSubstr("no key"))));
}

TEST_F(StatusLoggerTest, AServerTellsOfPushes) {
  const auto link = network_.join(shard);
  StatusLogger status_logger(*link, "s0", "", sayer());
  tell<ToShard>(shard, Welcome{1, 0, job_});
  tell<ToShard>(shard, Push{});
  EXPECT_TRUE(status_logger.receive(Time{}) && status_logger.receive(Time{}));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("shard 1 of 1"), "at work"));
}

TEST_F(StatusLoggerTest, ASchedulerThatIsSilentIsTold) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", sayer());
  tell<ToWorker>(worker, Welcome{1, 0, job_});
  ASSERT_TRUE(status_logger.receive(Time{}));
  said_.clear();
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(status_logger.receive(steady_now() + milliseconds(30)));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("nothing from the scheduler"))) << "once";
  tell<ToWorker>(worker, SchedulerBeat{1});
  ASSERT_TRUE(status_logger.receive(Time{}));
  EXPECT_THAT(said_.back(), HasSubstr("answers again"));
}

TEST_F(StatusLoggerTest, WhoWasStoppedItselfBlamesNobody) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", sayer());
  tell<ToWorker>(worker, Welcome{1, 0, job_});
  ASSERT_TRUE(status_logger.receive(Time{}));
  said_.clear();
  EXPECT_FALSE(status_logger.receive(steady_now() + milliseconds(-1000))) << "so late it looks again";
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(StatusLoggerTest, WhoNeverJoinedHasNothingToTell) {
  const auto link = network_.join(worker);
  StatusLogger status_logger(*link, "ada", "cpu", sayer());
  EXPECT_FALSE(status_logger.receive(Time{}));
  ExitReason ending;
  ending.out_of_reach();
  status_logger.over(ending);
  EXPECT_THAT(said_, IsEmpty()) << "why is said by the role";
}

}  // namespace
}  // namespace steelyard::status_logger_test
