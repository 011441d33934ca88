#include "transport/connections.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace steelyard::mailbox_test {
namespace {

constexpr NodeId self{Role::worker, 1};

Envelope interrupt(const std::string& why) {
  return {link_node, self, Message(std::in_place_type<ToWorker>, Interrupt{why})};
}
std::string why(const Envelope& it) { return std::get<Interrupt>(std::get<ToWorker>(it.message)).failure; }

bool readable(const Mailbox& mailbox) {
  pollfd watched{mailbox.descriptor(), POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

TEST(Mailbox, PostsWakeTheReaderAndArriveInOrder) {
  Mailbox mailbox;
  EXPECT_FALSE(readable(mailbox));
  std::thread([&] { mailbox.post({interrupt("first"), interrupt("second")}); }).join();
  EXPECT_TRUE(readable(mailbox));
  EXPECT_TRUE(mailbox.empty()) << "empty until take_posted()";
  mailbox.push_back(interrupt("before"));
  mailbox.take_posted();
  EXPECT_FALSE(readable(mailbox));
  for (const char* expected : {"before", "first", "second"}) {
    ASSERT_FALSE(mailbox.empty());
    EXPECT_EQ(why(mailbox.next()), expected);
  }
  EXPECT_TRUE(mailbox.empty());
}

TEST(Mailbox, MessagesOfASenderCanBeDropped) {
  Mailbox mailbox;
  for (const std::uint64_t sender : {1, 2, 1, 2}) {
    Envelope it = interrupt(std::to_string(sender));
    it.from = {Role::worker, sender};
    mailbox.push_back(std::move(it));
  }
  mailbox.drop_from({Role::worker, 1});
  EXPECT_EQ(why(mailbox.next()), "2");
  EXPECT_EQ(why(mailbox.next()), "2");
  EXPECT_TRUE(mailbox.empty());
}

TEST(Mailbox, PostsBeyondTheLimitDoNotBlock) {
  Mailbox mailbox;
  for (int i = 0; i < 70'000; ++i) mailbox.post({interrupt("again")});
  mailbox.take_posted();
  int held = 0;
  for (; !mailbox.empty(); ++held) (void)mailbox.next();
  EXPECT_GE(held, 65'536);
  EXPECT_LT(held, 70'000);
}

}  // namespace
}  // namespace steelyard::mailbox_test
