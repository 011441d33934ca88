// Lost, stopped and busy processes, as a control connection distinguishes them; with real processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <set>

#include "tests/support/temporary_folder.h"
#include "tests/transport/nets.h"
#include "transport/zmq.h"

namespace steelyard::liveness_test {
namespace {

constexpr NodeId stopped{Role::worker, 1}, busy{Role::worker, 2}, stopped_server{Role::shard, 3},
    killed_server{Role::shard, 4};

void send_ready(ZmqLink& link, NodeId self) {
  const bool worker = self.role == Role::worker;
  link.send({self, scheduler_node,
             worker ? Message(std::in_place_type<ToScheduler>, Ready{})
                    : Message(std::in_place_type<ToScheduler>, ShardBeat{})});
}

class Liveness : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = test::unfit("tcp"); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  // Forks a process that sends one message to the scheduler, then calls `then`. Call it before using libzmq.
  pid_t start(NodeId self, const std::function<void(ZmqLink&)>& then) {
    const pid_t child = fork();
    if (child == 0) {
      ZmqContext context;
      ZmqLink link(context, self);
      link.connect(scheduler_node, endpoint_);
      send_ready(link, self);
      then(link);
      _exit(0);
    }
    children_.insert(child);
    return child;
  }
  // Receives until `so` or for 30 seconds, and records senders and disconnected nodes.
  bool receive_until(ZmqLink& listener, const std::function<bool()>& so) {
    const Time deadline = steady_now() + from_seconds(30);
    while (!so() && steady_now() < deadline) {
      const auto envelope = listener.receive(steady_now() + milliseconds(50));
      if (!envelope) continue;
      const auto& message = std::get<ToScheduler>(envelope->message);
      if (const auto* gone = std::get_if<Disconnected>(&message)) {
        gone_.insert(gone->node);
        received_from_.erase(gone->node);
      } else {
        received_from_.insert(envelope->from);
      }
    }
    return so();
  }

  const TemporaryFolder folder_;
  const std::string endpoint_ = "ipc://" + (folder_.path() / "scheduler").string();
  std::set<pid_t> children_;
  std::set<NodeId> received_from_, gone_;
};

// Receives endlessly, as a waiting process does.
void receive_endlessly(ZmqLink& link) {
  while (true) (void)link.receive(steady_now() + from_seconds(1));
}

TEST_F(Liveness, StoppedWorkersAreDisconnectedAndBusyOnesAreNot) {
  const pid_t stops = start(stopped, [](ZmqLink& link) {
    (void)link.receive(steady_now() + from_seconds(60));  // only Disconnected arrives
    send_ready(link, stopped);
    receive_endlessly(link);
  });
  start(busy, [](ZmqLink&) { pause(); });
  const pid_t server = start(stopped_server, receive_endlessly),
              lost = start(killed_server, receive_endlessly);
  ZmqContext context;
  ZmqLink listener(context, scheduler_node);
  listener.listen(endpoint_);
  ASSERT_TRUE(receive_until(listener, [&] { return received_from_.size() == 4; }));
  kill(stops, SIGSTOP);
  kill(server, SIGSTOP);
  kill(lost, SIGKILL);
  EXPECT_TRUE(
      receive_until(listener, [&] { return gone_.contains(stopped) && gone_.contains(killed_server); }));
  EXPECT_FALSE(gone_.contains(busy)) << "its kernel and libzmq still answer";
  kill(stops, SIGCONT);
  EXPECT_TRUE(receive_until(listener, [&] { return received_from_.contains(stopped); }))
      << "it reconnects automatically";
  EXPECT_FALSE(gone_.contains(stopped_server)) << "silence does not prove that a server has exited";
}

}  // namespace
}  // namespace steelyard::liveness_test
