#include "app/processes/seats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_folder.h"

namespace steelyard::seats_test {
namespace {

class SeatsTest : public testing::Test {
 protected:
  SeatsTest() {
    options.scheduler = "ipc://" + (folder.path() / "scheduler").string();  // which does not exist
    options.listen = "ipc://" + (folder.path() / "server").string();
    options.name = "ada";
    options.shards = 2;
    options.quiet = true;
  }

  const TemporaryFolder folder;
  ServerOptions options;
  ZmqContext context;
};

TEST_F(SeatsTest, NamesAreNumberedIfThereAreSeveral) {
  EXPECT_EQ(shard_name(options, 1), "ada/1");
  options.shards = 1;
  EXPECT_EQ(shard_name(options, 0), "ada");
}

TEST_F(SeatsTest, AllEndWithoutAScheduler) {
  options.wait = 0.1;
  Seats seats(context, options, nullptr);
  seats.start();
  EXPECT_EQ(seats.join(), static_cast<int>(ExitCode::unreachable));
}

TEST_F(SeatsTest, AnInterruptEndsThoseThatHaveNotJoined) {
  Seats seats(context, options, nullptr);
  seats.start();
  seats.interrupt();
  EXPECT_EQ(seats.join(), static_cast<int>(ExitCode::temporary));
}

TEST_F(SeatsTest, AreInterruptedAndWaitedForIfTheyAreNotJoined) {
  std::atomic<int> ended = 0;
  {
    Seats seats(context, options, nullptr);
    seats.on_unjoined = [&] { ++ended; };
    seats.start();
  }
  EXPECT_EQ(ended, 2);
}

TEST_F(SeatsTest, ReportThoseThatEndWithoutHavingJoined) {
  std::atomic<int> unjoined = 0;
  options.wait = 0.1;
  Seats seats(context, options, nullptr);
  seats.on_unjoined = [&] { ++unjoined; };
  seats.start();
  (void)seats.join();
  EXPECT_EQ(unjoined, 2);
}

// A scheduler that welcomes the first shard that it hears.
class WelcomedSeats : public SeatsTest {
 protected:
  WelcomedSeats() {
    options.shards = 1;
    append(job_.layout, "w", {10});
    job_.layout.slice_size = 4;
    scheduler_.listen(options.scheduler);
  }
  void welcome() {
    const auto hello = scheduler_.receive(steady_now() + std::chrono::minutes(1));
    ASSERT_TRUE(hello);
    shard_ = hello->from;
    send(Welcome{1, 0, job_});
  }
  // Waits until the shard has joined.
  void hear_beat() {
    const Time enough = steady_now() + std::chrono::minutes(1);
    while (const auto heard = scheduler_.receive(enough)) {
      const auto* message = std::get_if<ToScheduler>(&heard->message);
      if (message != nullptr && std::holds_alternative<ShardBeat>(*message)) return;
    }
    FAIL() << "the shard does not join";
  }
  template <class Said>
  void send(Said said) {
    scheduler_.send({scheduler_node, shard_, Message(std::in_place_type<ToShard>, std::move(said))});
  }

 private:
  Job job_;
  ZmqLink scheduler_{context, scheduler_node};
  NodeId shard_;
};

TEST_F(WelcomedSeats, OneThatHasJoinedIsNotReported) {
  std::atomic<int> unjoined = 0;
  Seats seats(context, options, nullptr);
  seats.on_unjoined = [&] { ++unjoined; };
  seats.start();
  welcome();
  hear_beat();
  send(Stop{Outcome::finished, ""});
  EXPECT_EQ(seats.join(), 0);
  EXPECT_EQ(unjoined, 0);
}

TEST_F(WelcomedSeats, AnyExceptionOfAThreadIsAFailure) {
  std::string reported;
  Seats seats(context, options, nullptr, [] {
    return [](const Slice&, Interval) -> std::shared_ptr<nn::SliceArithmetic> {
      throw std::runtime_error("the device is gone");
    };
  });
  seats.on_failure = [&](const Failure& failure) { reported = failure.what(); };
  seats.start();
  welcome();
  try {
    (void)seats.join();
    FAIL() << "it has not failed";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::failed);
    EXPECT_THAT(failure.what(), testing::HasSubstr("the device is gone"));
  }
  EXPECT_EQ(reported, "the device is gone");
}

// Each shard has an arithmetic of its own.
TEST_F(SeatsTest, ArithmeticIsMadeForEachShard) {
  int made = 0;
  const Seats seats(context, options, nullptr, [&] {
    ++made;
    return Shard::Options::MakeArithmetic();
  });
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace steelyard::seats_test
