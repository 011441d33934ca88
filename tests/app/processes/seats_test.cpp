#include "app/processes/seats.h"

#include <gtest/gtest.h>

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
