// Links with keys over TCP: which peers are accepted, and what both sides report. docs/operations.md explains
// the background.
#include <zmq.hpp>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <future>

#include "core/error.h"
#include "protocol/keys.h"
#include "tests/support/temporary_folder.h"
#include "tests/transport/nets.h"
#include "tests/transport/security/keyring.h"
#include "transport/address.h"
#include "transport/security/curve.h"
#include "transport/zmq.h"

namespace steelyard::keyed_link_test {
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
  // The node of the next message of this type at the scheduler.
  template <class Content>
  std::optional<NodeId> next(Time deadline = soon()) {
    while (const auto envelope = listener_->receive(deadline)) {
      const auto* message = std::get_if<ToScheduler>(&envelope->message);
      const Content* content = message == nullptr ? nullptr : std::get_if<Content>(message);
      if (content == nullptr) continue;
      if constexpr (std::is_same_v<Content, Disconnected>) return content->node;
      return envelope->from;
    }
    return std::nullopt;
  }
  // Expects that the caller fails with this reason, and that the scheduler receives nothing from it.
  void expect_refused(ZmqLink& link, const std::string& why) {
    try {
      for (const Time end = soon(); steady_now() < end;) {
        (void)link.receive(steady_now() + milliseconds(20));
        ASSERT_FALSE(listener_->receive(Time{})) << "a message of a stranger arrived";
      }
      ADD_FAILURE() << "the caller did not fail";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      EXPECT_THAT(failure.what(), HasSubstr(why));
    }
  }
  // The first message of this type that a link delivers. Calls `meanwhile` while waiting.
  template <class Content, class Receiver = ToWorker>
  static std::optional<Content> first(
      ZmqLink& link, const std::function<void()>& meanwhile = [] {}) {
    for (const Time end = soon(); steady_now() < end;) {
      const auto envelope = link.receive(steady_now() + milliseconds(20));
      const auto* message = envelope ? std::get_if<Receiver>(&envelope->message) : nullptr;
      if (message != nullptr && std::holds_alternative<Content>(*message)) return std::get<Content>(*message);
      meanwhile();
    }
    return std::nullopt;
  }
  [[nodiscard]] AllowList without(KeyRole role) const {
    AllowList list = keys_.list();
    list.erase(keys_.pair(role).public_key);
    return list;
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

TEST_F(KeyedLink, AListedKeyIsAccepted) {
  const auto context = keys_.context(KeyRole::worker);
  const auto link = caller(*context, ada);
  EXPECT_EQ(next<Ready>(), ada);
}

TEST_F(KeyedLink, AnUnlistedKeyIsRefusedWithAReason) {
  const auto context = keys_.context(make_key(KeyRole::worker, "eve"));
  const auto link = caller(*context, ada);
  expect_refused(*link, "does not accept this key");
}

TEST_F(KeyedLink, PlainTextIsRefusedWithAReason) {
  ZmqContext context;
  const auto link = caller(context, ada);
  expect_refused(*link, "accepts only processes with keys");
}

TEST_F(KeyedLink, AListenerWithAnotherKeyIsRefused) {
  const auto context = keys_.context(KeyRole::worker);
  ZmqLink link(*context, ada);
  link.connect(scheduler_node, with_key(endpoint_, make_key(KeyRole::server, "other").public_key));
  link.send({ada, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  expect_refused(link, "has another key than expected");
}

TEST_F(KeyedLink, AListenerWithoutKeysIsRefused) {
  ZmqContext plain;
  ZmqLink open(plain, {Role::shard, 3});
  const std::string endpoint = open.listen("tcp://127.0.0.1:*");
  const auto context = keys_.context(KeyRole::worker);
  ZmqLink link(*context, ada);
  link.connect({Role::shard, 3}, with_key(endpoint, keys_.pair(KeyRole::server).public_key));
  const auto report = first<Unreachable>(link, [&] { EXPECT_FALSE(open.receive(Time{})); });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->node, (NodeId{Role::shard, 3}));
}

// A worker's key and a server's routing identity.
TEST_F(KeyedLink, MessagesOfAnotherRoleAreDropped) {
  const auto context = keys_.context(KeyRole::worker);
  const NodeId shard{Role::shard, 8}, checkpointer{Role::checkpointer, 8};
  const auto liar = caller(*context, shard), forger = caller(*context, checkpointer);
  // Messages that these roles may send, but not with a worker's key.
  liar->send({shard, scheduler_node, Message(std::in_place_type<ToScheduler>, Hello{})});
  forger->send({checkpointer, scheduler_node, Message(std::in_place_type<ToScheduler>, CheckpointerBeat{})});
  const Time end = soon();
  while (listener_->dropped() < 4 && steady_now() < end)
    ASSERT_FALSE(listener_->receive(steady_now() + milliseconds(20)));
  EXPECT_EQ(listener_->dropped(), 4U);
  const auto honest = caller(*context, ada);
  EXPECT_EQ(next<Ready>(), ada);
}

TEST_F(KeyedLink, ARevokedKeyIsDisconnectedAndStaysRefused) {
  const auto context = keys_.context(KeyRole::worker);
  const auto link = caller(*context, ada);
  ASSERT_EQ(next<Ready>(), ada);
  AllowList left = keys_.list();
  left.erase(keys_.pair(KeyRole::worker).public_key);
  write_allowed(directory_, left);
  // The list is checked when the link wakes, which a scheduler's does many times a second.
  std::optional<NodeId> lost;
  for (const Time end = soon(); !lost && steady_now() < end;)
    lost = next<Disconnected>(steady_now() + milliseconds(50));
  EXPECT_EQ(lost, ada);
  link->send({ada, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  expect_refused(*link, "does not accept this key");
}

// A server with its own key directory.
class KeyedShard : public KeyedLink {
 protected:
  void SetUp() override {
    KeyedLink::SetUp();
    if (IsSkipped()) return;
    write_key(there_, keys_.pair(KeyRole::server));
    write_allowed(there_, keys_.list());
    write_key(here_, keys_.pair(KeyRole::worker));
    write_allowed(here_, keys_.list());
    server_ = keys_.context(keys_.pair(KeyRole::server), there_);
    shard_ = std::make_unique<ZmqLink>(*server_, shard);
    place_ = with_key(shard_->listen("tcp://127.0.0.1:*"), keys_.pair(KeyRole::server).public_key);
    worker_ = keys_.context(keys_.pair(KeyRole::worker), here_);
    link_ = std::make_unique<ZmqLink>(*worker_, ada);
  }
  void ping() { link_->send({ada, shard, Message(std::in_place_type<ToShard>, Ping{1})}); }
  // Whether a ping reaches the shard.
  bool delivered() {
    ping();
    return first<Ping, ToShard>(*shard_, [&] { (void)link_->receive(Time{}); }).has_value();
  }

  static constexpr NodeId shard{Role::shard, 3};
  const std::string there_ = folder_.path("server"), here_ = folder_.path("worker");
  std::unique_ptr<ZmqContext> server_, worker_;
  std::unique_ptr<ZmqLink> shard_, link_;
  std::string place_;
};

// The worker waits, since the shard's list may be corrected.
TEST_F(KeyedShard, AShardIsUnreachableUntilItAllowsTheWorker) {
  write_allowed(there_, without(KeyRole::worker));
  Keys keys = load_keys(there_, KeyRole::server, "server");
  shard_.reset();
  server_ = std::make_unique<ZmqContext>(1, std::make_unique<Trust>(std::move(keys), [](const auto&) {}));
  shard_ = std::make_unique<ZmqLink>(*server_, shard);
  const std::string place = with_key(shard_->listen("tcp://127.0.0.1:*"), split_key(place_).key);
  link_->connect(shard, place);
  const auto report = first<Unreachable>(*link_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->node, shard);
  EXPECT_EQ(report->endpoint, place);
  EXPECT_THAT(report->why, HasSubstr("keys add"));
  while (link_->denied() < 2)
    ASSERT_FALSE(link_->receive(steady_now() + milliseconds(20))) << "reported once";
  write_allowed(there_, keys_.list());
  const auto connected = first<Disconnected>(*link_);
  ASSERT_TRUE(connected) << "earlier messages are lost, so a disconnection is reported";
  EXPECT_EQ(connected->node, shard);
  EXPECT_TRUE(delivered());
}

TEST_F(KeyedShard, AShardWithAnotherKeyIsUnreachable) {
  link_->connect(shard, with_key(split_key(place_).address, make_key(KeyRole::server, "other").public_key));
  const auto report = first<Unreachable>(*link_);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->why, HasSubstr("has another key than expected"));
  link_->connect(shard, place_);
  EXPECT_TRUE(delivered()) << "another endpoint starts afresh";
}

TEST_F(KeyedShard, AShardRevokedHereIsDisconnected) {
  link_->connect(shard, place_);
  ASSERT_TRUE(delivered());
  write_allowed(here_, without(KeyRole::server));
  const auto report = first<Unreachable>(*link_);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->why, HasSubstr("no longer in the allow-list here"));
  EXPECT_TRUE((first<Disconnected, ToShard>(*shard_))) << "the connection must close";
  link_->disconnect(shard);
  EXPECT_THROW(link_->connect(shard, place_), Failure) << "a new connection is refused, too";
  write_allowed(here_, keys_.list());
  // The list is checked several times a second.
  bool again = false;
  for (const Time end = soon(); !again && steady_now() < end;) {
    (void)link_->receive(steady_now() + milliseconds(20));
    try {
      link_->connect(shard, place_);
      again = true;
    } catch (const Failure&) {
    }
  }
  EXPECT_TRUE(again && delivered());
}

// A process cannot continue without its scheduler.
TEST_F(KeyedShard, ARevokedSchedulerEndsTheProcess) {
  link_->connect(scheduler_node, endpoint_);
  link_->send({ada, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  ASSERT_EQ(next<Ready>(), ada);
  write_allowed(here_, without(KeyRole::scheduler));
  expect_refused(*link_, "no longer in the allow-list here");
}

// For a shard, a refusal is a disconnection from its mirror; the scheduler decides what follows.
TEST_F(KeyedShard, AMirrorThatRefusesItsPrimaryCountsAsLost) {
  const auto context = keys_.context(make_key(KeyRole::server, "unknown"));
  constexpr NodeId primary{Role::shard, 8};
  ZmqLink link(*context, primary);
  link.connect(shard, place_);
  const auto lost = first<Disconnected, ToShard>(link);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->node, shard);
}

TEST_F(KeyedShard, ItsEndpointAlwaysHasTheKeyOfItsConnection) {
  shard_->connect(scheduler_node, endpoint_);
  Hello hello;
  hello.name = "s0";
  hello.endpoint = with_key("tcp://127.0.0.1:4711", make_key(KeyRole::server, "other").public_key);
  shard_->send({shard, scheduler_node, Message(std::in_place_type<ToScheduler>, hello)});
  const auto delivered = first<Hello, ToScheduler>(*listener_, [&] { (void)shard_->receive(Time{}); });
  ASSERT_TRUE(delivered);
  EXPECT_EQ(delivered->endpoint, with_key("tcp://127.0.0.1:4711", keys_.pair(KeyRole::server).public_key));
}

// A blocked log line about a refusal must not delay changes of the list.
TEST_F(KeyedLink, ABlockedRefusalDoesNotDelayTheList) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  Trust::Say say = [released](const std::string& line) {
    if (line.find("refused") != std::string::npos) released.wait();
  };
  auto owned = std::make_unique<Trust>(load_keys(directory_, KeyRole::scheduler, "scheduler"), say);
  const Trust& trust = *owned;
  ZmqContext context(1, std::move(owned));
  ZmqLink busy(context, {Role::shard, 9});
  const std::string place = busy.listen("tcp://127.0.0.1:*");
  const auto stranger = keys_.context(make_key(KeyRole::worker, "eve"));
  ZmqLink eve(*stranger, ada);
  eve.connect({Role::shard, 9}, with_key(place, keys_.pair(KeyRole::scheduler).public_key));
  EXPECT_TRUE(first<Unreachable>(eve)) << "eve must be refused";
  write_allowed(directory_, without(KeyRole::worker));
  const Time end = soon();
  while (trust.allowed()->contains(keys_.pair(KeyRole::worker).public_key) && steady_now() < end)
    (void)busy.receive(steady_now() + milliseconds(20));
  EXPECT_FALSE(trust.allowed()->contains(keys_.pair(KeyRole::worker).public_key));
  release.set_value();
}

TEST_F(KeyedLink, ARevokedWorkersDirectConnectionEnds) {
  const auto context = keys_.context(KeyRole::worker);
  ZmqLink link(*context, ada, Memory::shared);
  link.connect(scheduler_node, endpoint_);
  for (const Time end = soon(); !(link.is_direct(scheduler_node) && listener_->is_direct(ada));) {
    ASSERT_LT(steady_now(), end);
    (void)link.receive(steady_now() + milliseconds(2));
    (void)listener_->receive(steady_now() + milliseconds(2));
  }
  write_allowed(directory_, without(KeyRole::worker));
  EXPECT_EQ(next<Disconnected>(), ada);
  EXPECT_FALSE(listener_->is_direct(ada));
  link.send({ada, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  EXPECT_FALSE(next<Ready>(steady_now() + milliseconds(300)));
}

// Silent connections, and connections that send garbage.
TEST_F(KeyedLink, UselessConnectionsDoNotBlockOthers) {
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

// libzmq without an authentication handler: with the domain enforced, no client is accepted.
TEST_F(KeyedLink, WithoutAnAuthenticatorNoClientIsAccepted) {
  zmq::context_t context;
  zmq::socket_t listener(context, zmq::socket_type::router), client(context, zmq::socket_type::dealer);
  for (zmq::socket_t* it : {&listener, &client}) it->set(zmq::sockopt::linger, 0);
  make_listener(listener, keys_.pair(KeyRole::scheduler));
  listener.bind("tcp://127.0.0.1:*");
  make_caller(client, keys_.pair(KeyRole::worker), keys_.pair(KeyRole::scheduler).public_key);
  client.connect(listener.get(zmq::sockopt::last_endpoint));
  client.send(zmq::str_buffer("hello"), zmq::send_flags::none);
  listener.set(zmq::sockopt::rcvtimeo, 500);
  zmq::message_t delivered;
  EXPECT_FALSE(listener.recv(delivered));
  EXPECT_THROW(require_strangers_refused(context, keys_.pair(KeyRole::scheduler)), Failure)
      << "no authenticator refuses them";
}

}  // namespace
}  // namespace steelyard::keyed_link_test
