// A worker driven by a test: delivers messages to it, and keeps those that it sends.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/heard.h"
#include "tests/support/memory_file.h"
#include "worker/worker.h"

namespace steelyard::test {

inline constexpr NodeId self{Role::worker, 7}, left{Role::shard, 10}, right{Role::shard, 11};

// Ten floats in three slices (4, 4, 2); `left` has the first, `right` the others.
class WorkerTest : public ::testing::Test {
 protected:
  // `last` receives the last version.
  explicit WorkerTest(std::function<void(const Blob&)> last = {}) : last_(std::move(last)) {}

  static Job make_job() {
    Job job;
    append(job.layout, "w", {10});
    job.layout.slice_size = 4;
    return job;
  }
  template <class Body>
  void deliver(NodeId from, Body message) {
    Outbox out(self);
    worker.step(now, {from, self, Message(std::in_place_type<ToWorker>, std::move(message))}, out);
    sent = out.take();
  }
  void wake(double later) {
    now = now + from_seconds(later);
    Outbox out(self);
    worker.wake(now, out);
    sent = out.take();
  }
  template <class Body>
  std::vector<Body> sent_of() const {
    return test::heard<Body>(sent);
  }
  [[nodiscard]] std::vector<NodeId> receivers() const {  // only shards
    std::vector<NodeId> nodes;
    for (const Envelope& envelope : sent) {
      if (envelope.to.role == Role::shard) nodes.push_back(envelope.to);
    }
    return nodes;
  }
  static Roster roster() { return {{{left, "tcp://a", 0, 1}, {right, "tcp://b", 1, 3}}, 1}; }
  void join() {
    wake(0);
    deliver(scheduler_node, Welcome{term, 0, make_job()});
    reach_shards();
  }
  void reach_shards() {
    deliver(scheduler_node, roster());
    deliver(left, Pong{term});
    deliver(right, Pong{term});
  }
  static Start start(Round round, PieceId piece, Interval positions, Purpose purpose = Purpose::train) {
    return {term, {piece, round, purpose, 0, positions}};
  }
  void arrive(Version version, std::uint32_t slice, float value) {
    deliver(slice == 0 ? left : right,
            Parameters{term, version, slice, Blob::copy_of(std::vector<float>(slice == 2 ? 2 : 4, value))});
  }
  void arrive_all(Version version) {
    for (std::uint32_t slice = 0; slice < 3; ++slice) arrive(version, slice, static_cast<float>(version));
  }
  void computed(Round round, PieceId piece, Interval positions, Purpose purpose = Purpose::train) {
    deliver(compute_node, Computed{Report{0, {piece, round, purpose, 0, positions}, 0.5}});
  }
  void final(Round round, PieceId piece, std::uint32_t slice) {
    deliver(compute_node,
            GradientReady{round, piece, slice, Blob::copy_of(std::vector<float>(slice == 2 ? 2 : 4, 1.0F))});
  }

  static constexpr Term term = 3;
  int prepared = 0;
  std::string computing;
  Time now{std::chrono::seconds(1)};
  std::vector<Envelope> sent;
  std::function<void(const Blob&)> last_;
  std::vector<std::shared_ptr<MemoryFile>> files;  // for the worker's state, in the order of their creation
  Worker worker{{self,
                 {0, "ann", "", DeviceKind::cpu, 0},
                 {},
                 [this](const Welcome&) { ++prepared; },
                 {},
                 last_,
                 [this] { return files.emplace_back(std::make_shared<MemoryFile>()); },
                 [this] { return computing; }}};
};

}  // namespace steelyard::test
