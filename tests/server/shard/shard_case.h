// A shard under test: delivers messages and collects the output. Gradients are small integers, so sums are
// exact in any order and results can be compared bit for bit.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/random.h"
#include "nn/optimizer/rule.h"
#include "server/mirror/replica.h"
#include "tests/support/heard.h"

namespace steelyard::test {

inline constexpr NodeId shard_node{Role::shard, 5};
inline constexpr NodeId checkpointer_node{Role::checkpointer, 6};
inline NodeId worker_node(std::uint64_t number) { return {Role::worker, number}; }

// A job with one shard and a small model: `parameters` floats in slices of `slice_size`.
inline Job shard_job(std::uint64_t parameters = 10, std::uint64_t slice_size = 4,
                     nn::Optimizer::Kind kind = nn::Optimizer::Kind::sgd) {
  Job job;
  append(job.layout, "w", {parameters});
  job.layout.slice_size = slice_size;
  job.train_samples = 1024;
  job.optimizer = {kind, 0.5, 0};
  job.schedule.base = 0.5;
  return job;
}

inline float gradient(Position position, std::uint64_t element) {
  return static_cast<float>(static_cast<int>(hash(position, element) % 15) - 7);
}

class ShardCase {
 public:
  explicit ShardCase(Job with, std::uint32_t slot = 0, Shard::Options::MakeArithmetic arithmetic = {})
      : job(std::move(with)),
        slices(steelyard::slices(job.layout)),
        replica({.self = shard_node,
                 .hello = {0, "s", "", DeviceKind::cpu, 0},
                 .timeout = {},
                 .arithmetic = std::move(arithmetic)}) {
    Outbox out(shard_node);
    replica.wake(now, out);
    output = out.take();
    deliver(scheduler_node, Welcome{term, slot, job});
  }

  template <class Content>
  std::vector<Envelope>& deliver(NodeId from, Content message) {
    Outbox out(shard_node);
    replica.step(now, {from, shard_node, Message(std::in_place_type<ToShard>, std::move(message))}, out);
    output = out.take();
    return output;
  }
  std::vector<Envelope>& wake(double later) {
    now = now + from_seconds(later);
    Outbox out(shard_node);
    replica.wake(now, out);
    output = out.take();
    return output;
  }

  void load(Version version = 0) {
    for (std::uint32_t number = 0; number < slices.size(); ++number) {
      for (std::uint32_t slot = 0; slot <= state_slots(job); ++slot) {
        deliver(checkpointer_node,
                StateChunk{term, version, number, slot, version, constant(slices[number].size(), 0)});
      }
    }
  }
  void open(Round round, Interval positions, bool clip_barrier = false, bool save = false) {
    deliver(scheduler_node, BeginRound{term, round, 0, positions, positions.size(), clip_barrier, save});
  }
  [[nodiscard]] Push push(Round round, Interval positions, std::uint32_t slice) const {
    std::vector<float> sum(slices.at(slice).size());
    for (Position p = positions.begin; p < positions.end; ++p) {
      for (std::uint64_t e = 0; e < sum.size(); ++e) sum[e] += gradient(p, slices[slice].begin + e);
    }
    return {term,
            {.id = 1, .round = round, .positions = positions},
            static_cast<double>(positions.size()),
            slice,
            Blob::copy_of(sum)};
  }
  // Requests all parts of a version.
  [[nodiscard]] Fetch fetch(Version version) const {
    Fetch all{version, {}};
    for (std::uint32_t slice = 0; slice < shard.slices().size(); ++slice) {
      for (std::uint32_t slot = 0; slot <= state_slots(job); ++slot) all.parts.push_back({slice, slot});
    }
    return all;
  }
  // One worker pushes these positions to all slices.
  void finish(Round round, Interval positions) {
    for (std::uint32_t slice = 0; slice < slices.size(); ++slice)
      deliver(worker_node(1), push(round, positions, slice));
  }
  static Blob constant(std::uint64_t size, float value) {
    return Blob::copy_of(std::vector<float>(size, value));
  }

  // All messages of this type in the output of the last call.
  template <class Content>
  [[nodiscard]] std::vector<Content> sent() const {
    return test::heard<Content>(output);
  }
  [[nodiscard]] std::vector<float> parameters() const {
    std::vector<float> all;
    for (const SliceMemory& slice : shard.slices()) {
      all.insert(all.end(), slice.current().floats().begin(), slice.current().floats().end());
    }
    return all;
  }

  static constexpr Term term = 3;
  Job job;
  std::vector<Slice> slices;
  Replica replica;
  const Shard& shard = replica.shard();
  Time now{std::chrono::seconds(1)};
  std::vector<Envelope> output;
};

// Reference on one machine: each round's positions summed in order, then one step.
class PlainLoop {
 public:
  explicit PlainLoop(const Job& job) : job_(job), parameters(job.layout.size()), state_(job.layout.size()) {}

  void round(Interval positions) {
    std::vector<float> sum(parameters.size()), next(parameters.size());
    for (Position p = positions.begin; p < positions.end; ++p) {
      for (std::uint64_t e = 0; e < sum.size(); ++e) sum[e] += gradient(p, e);
    }
    const double scale = 1.0 / static_cast<double>(positions.size());
    const nn::Optimizer rule = server_rule(job_);
    const std::span<float> state = nn::state_slots(rule) > 0 ? std::span(state_) : std::span<float>();
    nn::step(rule, {next, parameters, sum, scale}, state, job_.schedule.base, 1);
    parameters = std::move(next);
  }

 private:
  Job job_;

 public:
  std::vector<float> parameters;

 private:
  std::vector<float> state_;
};

}  // namespace steelyard::test
