// A checkpointer under test: delivers messages from shards and scheduler, and collects its output.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/checkpointer.h"

namespace steelyard::test {

inline constexpr NodeId checkpointer_self{Role::checkpointer, 1}, left{Role::shard, 10},
    right{Role::shard, 11};

// Ten floats in three slices (4, 4, 2) and one state slot; `left` has the first slice, `right` the others.
class CheckpointerCase : public ::testing::Test {
 protected:
  explicit CheckpointerCase(Snapshot from = initial(), OpenCheckpoint open = {})
      : checkpointer(checkpointer_self, std::move(from), 1,
                     open ? std::move(open)
                          : in_memory([this](const Snapshot& snapshot) { return store(snapshot); })) {}

  static Snapshot initial() {
    Snapshot snapshot;
    append(snapshot.layout, "w", {10});
    snapshot.layout.slice_size = 4;
    snapshot.parameters.resize(10);
    std::iota(snapshot.parameters.begin(), snapshot.parameters.end(), 1.0F);
    snapshot.progress.term = 2;
    snapshot.progress.version = 7;
    snapshot.seed = 99;
    snapshot.steps = 6;
    snapshot.source = {"synthetic", 100, "99aa06d3014798d86001c324468d497f", 10};
    return snapshot;
  }
  std::string store(const Snapshot& snapshot) {
    if (while_storing) while_storing();
    stored.push_back(snapshot);
    return "checkpoints/" + std::to_string(snapshot.progress.version);
  }
  template <class Content>
  std::vector<Envelope>& deliver(NodeId from, Content message) {
    Outbox out(checkpointer_self);
    checkpointer.step(
        now, {from, checkpointer_self, Message(std::in_place_type<ToCheckpointer>, std::move(message))}, out);
    return output = out.take();
  }
  std::vector<Envelope>& wake(double later) {
    now = now + from_seconds(later);
    Outbox out(checkpointer_self);
    checkpointer.wake(now, out);
    return output = out.take();
  }
  template <class Receiver, class Content>
  [[nodiscard]] std::vector<std::pair<NodeId, Content>> sent() const {
    std::vector<std::pair<NodeId, Content>> found;
    for (const Envelope& envelope : output) {
      const auto* receiver = std::get_if<Receiver>(&envelope.message);
      if (receiver == nullptr) continue;
      if (const Content* it = std::get_if<Content>(receiver)) found.emplace_back(envelope.to, *it);
    }
    return found;
  }
  static Roster roster() { return {{{left, "tcp://a:1", 0, 1, "ann"}, {right, "tcp://b:2", 1, 3, "ben"}}}; }
  static Save save(Version version) {
    Progress progress;
    progress.version = version;
    progress.epoch = 3;
    progress.policy_state = "policy";
    return {progress};
  }
  static State state(Version version, std::uint32_t slice, std::uint32_t slot, float value) {
    return {version, slice, slot, version, Blob::copy_of(std::vector<float>(slice == 2 ? 2 : 4, value))};
  }
  // Answers all fetches, including those that follow, except fetches from `silent`. Parameters are `value`,
  // state is value + 10. Leaves the output of the last message in `output`.
  void serve(float value, NodeId silent = {}) {
    for (auto fetches = sent<ToShard, Fetch>(); !fetches.empty();) {
      const auto [shard, fetch] = fetches.front();
      fetches.erase(fetches.begin());
      if (shard == silent) continue;
      for (const StatePart& part : fetch.parts) {
        deliver(shard,
                state(fetch.version, part.slice, part.slot, value + static_cast<float>(10 * part.slot)));
        for (auto& more : sent<ToShard, Fetch>()) fetches.push_back(std::move(more));
      }
    }
  }
  [[nodiscard]] std::vector<Saved> saved() const {
    std::vector<Saved> all;
    for (const auto& [to, it] : sent<ToScheduler, Saved>()) all.push_back(it);
    return all;
  }

  std::vector<Snapshot> stored;
  std::function<void()> while_storing;
  Time now{std::chrono::seconds(1)};
  std::vector<Envelope> output;
  Checkpointer checkpointer;
};

}  // namespace steelyard::test
