// Links with keys, over TCP: who is heard, who is refused, and what either side is told. The trap behind each
// is in docs/operations.md.
#include <zmq.hpp>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/wire/transport/keyring.h"
#include "tests/wire/transport/nets.h"
#include "wire/keyed_endpoint.h"
#include "wire/transport/address.h"
#include "wire/transport/curve.h"
#include "wire/transport/zmq.h"

namespace steelyard {
namespace {

using test::Keyring;
using ::testing::HasSubstr;

constexpr NodeId ada{Role::worker, 1};

Time soon() { return steady_now() + from_seconds(20); }

class KeyedLink : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = test::unfit("tcp");
    if (!why.empty()) GTEST_SKIP() << why;
    write_key(directory_, keys_.pair(KeyRole::scheduler));
    write_allowed(directory_, keys_.list());
    hub_ = keys_.context(keys_.pair(KeyRole::scheduler), directory_);
    listener_ = std::make_unique<ZmqLink>(*hub_, scheduler_node);
    endpoint_ = listener_->listen("tcp://127.0.0.1:*");
  }
  [[nodiscard]] std::unique_ptr<ZmqLink> caller(ZmqContext& context, NodeId node) const {
    auto link = std::make_unique<ZmqLink>(context, node);
    link->connect(scheduler_node, endpoint_);
    link->send({node, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
    return link;
  }
  // Whom the scheduler hears or loses next.
  template <class Said>
  std::optional<NodeId> next(Time deadline = soon()) {
    while (const auto envelope = listener_->receive(deadline)) {
      const auto* message = std::get_if<ToScheduler>(&envelope->message);
      const Said* said = message == nullptr ? nullptr : std::get_if<Said>(message);
      if (said == nullptr) continue;
      if constexpr (std::is_same_v<Said, Disconnected>) return said->node;
      return envelope->from;
    }
    return std::nullopt;
  }
  // The caller gives up and says why; the scheduler hears nothing of it meanwhile.
  void expect_refused(ZmqLink& link, const std::string& why) {
    try {
      for (const Time end = soon(); steady_now() < end;) {
        (void)link.receive(steady_now() + milliseconds(20));
        ASSERT_FALSE(listener_->receive(Time{})) << "a stranger was heard";
      }
      ADD_FAILURE() << "the caller was told nothing";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      EXPECT_THAT(failure.what(), HasSubstr(why));
    }
  }
  [[nodiscard]] int raw_connection() const {
    const int it = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(host_port(endpoint_)->port)));
    inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
    EXPECT_EQ(connect(it, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    return it;
  }

  const Keyring keys_;
  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path("keys");
  std::unique_ptr<ZmqContext> hub_;
  std::unique_ptr<ZmqLink> listener_;
  std::string endpoint_;
};

TEST_F(KeyedLink, WhoIsOnTheListIsHeard) {
  const auto context = keys_.context(KeyRole::worker);
  const auto link = caller(*context, ada);
  EXPECT_EQ(next<Ready>(), ada);
}

TEST_F(KeyedLink, AKeyThatIsNotOnTheListIsRefusedAndTold) {
  const auto context = keys_.context(make_key(KeyRole::worker, "eve"));
  const auto link = caller(*context, ada);
  expect_refused(*link, "does not let this key in");
}

TEST_F(KeyedLink, PlainTextIsRefusedAndTold) {
  ZmqContext context;
  const auto link = caller(context, ada);
  expect_refused(*link, "speaks only to those that have keys");
}

TEST_F(KeyedLink, AnotherListenerThanExpectedIsNotSpokenTo) {
  const auto context = keys_.context(KeyRole::worker);
  ZmqLink link(*context, ada);
  link.connect(scheduler_node, with_key(endpoint_, make_key(KeyRole::server, "other").public_key));
  link.send({ada, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  expect_refused(link, "has another key than is expected");
}

TEST_F(KeyedLink, AListenerWithoutKeysIsNotSpokenTo) {
  ZmqContext plain;
  ZmqLink open(plain, {Role::shard, 3});
  const std::string endpoint = open.listen("tcp://127.0.0.1:*");
  const auto context = keys_.context(KeyRole::worker);
  ZmqLink link(*context, ada);
  link.connect({Role::shard, 3}, with_key(endpoint, keys_.pair(KeyRole::server).public_key));
  try {
    for (const Time end = soon(); steady_now() < end;) {
      (void)link.receive(steady_now() + milliseconds(20));
      (void)open.receive(Time{});
    }
    ADD_FAILURE() << "the caller was told nothing";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
  }
}

// A worker's key and a server's routing identity.
TEST_F(KeyedLink, AKeyOfAnotherRoleIsNotHeard) {
  const auto context = keys_.context(KeyRole::worker);
  const NodeId shard{Role::shard, 8}, checkpointer{Role::checkpointer, 8};
  const auto liar = caller(*context, shard), forger = caller(*context, checkpointer);
  // What these roles may say, if they were they.
  liar->send({shard, scheduler_node, Message(std::in_place_type<ToScheduler>, Hello{})});
  forger->send({checkpointer, scheduler_node, Message(std::in_place_type<ToScheduler>, CheckpointerBeat{})});
  const Time end = soon();
  while (listener_->dropped() < 4 && steady_now() < end)
    ASSERT_FALSE(listener_->receive(steady_now() + milliseconds(20)));
  EXPECT_EQ(listener_->dropped(), 4U);
  const auto honest = caller(*context, ada);
  EXPECT_EQ(next<Ready>(), ada);
}

TEST_F(KeyedLink, WhoIsRevokedIsLostAndDoesNotComeBack) {
  const auto context = keys_.context(KeyRole::worker);
  const auto link = caller(*context, ada);
  ASSERT_EQ(next<Ready>(), ada);
  AllowList left = keys_.list();
  left.erase(keys_.pair(KeyRole::worker).public_key);
  write_allowed(directory_, left);
  // The list is looked at when the link wakes: a scheduler's does so many times a second.
  std::optional<NodeId> lost;
  for (const Time end = soon(); !lost && steady_now() < end;)
    lost = next<Disconnected>(steady_now() + milliseconds(50));
  EXPECT_EQ(lost, ada);
  link->send({ada, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  expect_refused(*link, "does not let this key in");
}

// Silent ones, and ones that speak something else, on a port of others' work.
TEST_F(KeyedLink, ConnectionsThatAreNoneDoNotStopAnybody) {
  std::vector<int> raw;
  for (int i = 0; i < 200; ++i) {
    raw.push_back(raw_connection());
    const std::string garbage(static_cast<std::size_t>(i) * 7, static_cast<char>(i));
    if (i % 2 == 1) (void)!send(raw.back(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  const auto context = keys_.context(KeyRole::worker);
  const auto link = caller(*context, ada);
  EXPECT_EQ(next<Ready>(), ada);
  for (const int it : raw) close(it);
}

// What libzmq would do where nobody answers whether a key is known: with the domain enforced, nobody comes
// in.
TEST_F(KeyedLink, WithoutAnybodyToAskNobodyIsLetIn) {
  zmq::context_t context;
  zmq::socket_t listener(context, zmq::socket_type::router), client(context, zmq::socket_type::dealer);
  for (zmq::socket_t* it : {&listener, &client}) it->set(zmq::sockopt::linger, 0);
  make_listener(listener, keys_.pair(KeyRole::scheduler));
  listener.bind("tcp://127.0.0.1:*");
  make_caller(client, keys_.pair(KeyRole::worker), keys_.pair(KeyRole::scheduler).public_key);
  client.connect(listener.get(zmq::sockopt::last_endpoint));
  client.send(zmq::str_buffer("hello"), zmq::send_flags::none);
  listener.set(zmq::sockopt::rcvtimeo, 500);
  zmq::message_t heard;
  EXPECT_FALSE(listener.recv(heard));
  EXPECT_THROW(require_strangers_refused(context, keys_.pair(KeyRole::scheduler)), Failure)
      << "nobody says that they are";
}

}  // namespace
}  // namespace steelyard
