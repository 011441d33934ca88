#include "app/processes/initial_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <thread>

#include "core/error.h"
#include "transport/local.h"

namespace steelyard::keeping_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr NodeId self{Role::checkpointer, 5};

// Calls `fail`, which may throw, before it receives.
class Failing : public Link {
 public:
  Failing(Link& link, std::function<void()> fail) : link_(link), fail_(std::move(fail)) {}
  void connect(NodeId peer, const std::string& endpoint) override { link_.connect(peer, endpoint); }
  void disconnect(NodeId peer) override { link_.disconnect(peer); }
  void send(Envelope envelope) override { link_.send(std::move(envelope)); }
  std::optional<Envelope> receive(Time deadline) override {
    fail_();
    return link_.receive(deadline);
  }
  void post(std::vector<Envelope> envelopes) override { link_.post(std::move(envelopes)); }

 private:
  Link& link_;
  const std::function<void()> fail_;
};

class Keeping : public testing::Test {
 protected:
  // Runs on a thread of its own, as in a scheduler's process.
  std::jthread keeping(std::function<void()> fail) {
    failing_ = std::make_unique<Failing>(*link_, std::move(fail));
    return std::jthread(keep, std::ref(checkpointer_), self, std::ref(*failing_),
                        [this](const std::string& line) { lines_.push_back(line); });
  }

  static Snapshot initial() {
    Snapshot snapshot;
    append(snapshot.layout, "w", {10});
    snapshot.layout.slice_size = 4;
    snapshot.parameters.resize(10);
    return snapshot;
  }

  LocalNetwork network_;
  std::unique_ptr<Link> scheduler_ = network_.join(scheduler_node), link_ = network_.join(self);
  std::unique_ptr<Failing> failing_;
  Checkpointer checkpointer_{self, initial(), 0,
                             [](const Snapshot&, std::size_t) { return std::unique_ptr<CheckpointSink>(); }};
  std::vector<std::string> lines_;
};

TEST_F(Keeping, ErrorsAreReportedAndItContinues) {
  std::atomic<int> calls = 0;
  std::jthread thread = keeping([&] {
    const int call = ++calls;
    if (call == 1) throw std::bad_alloc();
    if (call == 2 || call == 3) throw Failure(ExitCode::configuration, "the key is wrong");
    if (call == 4) throw 5;
  });
  bool beats = false;
  while (!beats) {
    const auto message = scheduler_->receive(steady_now() + from_seconds(20));
    ASSERT_TRUE(message) << "it has stopped";
    beats = message->from == self && calls > 4;
  }
  thread.request_stop();
  thread.join();
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("not enough memory"),
                                  AllOf(HasSubstr("the key is wrong"), HasSubstr("no checkpoint")),
                                  HasSubstr("unknown reason")));
  EXPECT_TRUE(checkpointer_.finished());
}

TEST_F(Keeping, APermanentLinkFailureDoesNotBlockTheExit) {
  std::jthread thread = keeping([] { throw Failure(ExitCode::configuration, "the key is wrong"); });
  ASSERT_TRUE(scheduler_->receive(steady_now() + from_seconds(20)));
  thread.request_stop();
  thread.join();
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("the key is wrong")));
}

}  // namespace
}  // namespace steelyard::keeping_test
