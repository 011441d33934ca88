// Who is gone, who is stopped and who is only busy: what a control connection tells, of real processes.
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

void say_ready(ZmqLink& link, NodeId self) {
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
  // A process of its own, which says one word to the scheduler and then does this. Before any libzmq here.
  pid_t start(NodeId self, const std::function<void(ZmqLink&)>& then) {
    const pid_t child = fork();
    if (child == 0) {
      ZmqContext context;
      ZmqLink link(context, self);
      link.connect(scheduler_node, endpoint_);
      say_ready(link, self);
      then(link);
      _exit(0);
    }
    children_.insert(child);
    return child;
  }
  // Reads until `so`, or for long. Whom the connection of is gone, it remembers.
  bool hear_until(ZmqLink& listener, const std::function<bool()>& so) {
    const Time deadline = steady_now() + from_seconds(30);
    while (!so() && steady_now() < deadline) {
      const auto envelope = listener.receive(steady_now() + milliseconds(50));
      if (!envelope) continue;
      const auto& message = std::get<ToScheduler>(envelope->message);
      if (const auto* gone = std::get_if<Disconnected>(&message)) {
        gone_.insert(gone->node);
        heard_.erase(gone->node);
      } else {
        heard_.insert(envelope->from);
      }
    }
    return so();
  }

  const TemporaryFolder folder_;
  const std::string endpoint_ = "ipc://" + (folder_.path() / "scheduler").string();
  std::set<pid_t> children_;
  std::set<NodeId> heard_, gone_;
};

// It reads for ever, as a machine that waits does.
void listen_on(ZmqLink& link) {
  while (true) (void)link.receive(steady_now() + from_seconds(1));
}

TEST_F(Liveness, OfWhoDoesNotAnswerTheConnectionEndsAndABusyOneKeepsIts) {
  const pid_t stops = start(stopped, [](ZmqLink& link) {
    (void)link.receive(steady_now() + from_seconds(60));  // nothing comes but the news that it was cut off
    say_ready(link, stopped);
    listen_on(link);
  });
  start(busy, [](ZmqLink&) { pause(); });
  const pid_t server = start(stopped_server, listen_on), lost = start(killed_server, listen_on);
  ZmqContext context;
  ZmqLink listener(context, scheduler_node);
  listener.listen(endpoint_);
  ASSERT_TRUE(hear_until(listener, [&] { return heard_.size() == 4; }));
  kill(stops, SIGSTOP);
  kill(server, SIGSTOP);
  kill(lost, SIGKILL);
  EXPECT_TRUE(hear_until(listener, [&] { return gone_.contains(stopped) && gone_.contains(killed_server); }));
  EXPECT_FALSE(gone_.contains(busy)) << "its process answers";
  kill(stops, SIGCONT);
  EXPECT_TRUE(hear_until(listener, [&] { return heard_.contains(stopped); }))
      << "it connects again by itself";
  EXPECT_FALSE(gone_.contains(stopped_server)) << "that it does not answer is no proof that it has ended";
}

}  // namespace
}  // namespace steelyard::liveness_test
