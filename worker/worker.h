// Worker: pulls a version, has pieces computed, pushes them, reports.
//
// Holds two versions of the parameters: the one it computes from, and the next one as it arrives. What it
// pushed for a version stays until all of the next version is here: that is the proof that every slice was
// closed, and until then a push may have to be said again. The computing itself is a pseudo-node's business;
// meanwhile the worker goes on answering.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/buffer_pool.h"
#include "core/layout.h"
#include "wire/lifeline.h"
#include "wire/machine.h"

namespace steelyard {

class Worker {
 public:
  struct Options {
    NodeId self;
    Hello hello;
    Lifeline::Patience patience;
    // Called once, with the job: prepares model and data, or throws Failure. Whatever takes long happens
    // here.
    std::function<void(const Welcome&)> prepare;
  };

  explicit Worker(Options options) : options_(std::move(options)), lifeline_(options_.patience) {}

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return finished_ ? Time::max() : lifeline_.deadline(); }
  [[nodiscard]] bool finished() const { return finished_; }

  // Why it ended. Meaningful once finished.
  [[nodiscard]] const Stop& outcome() const { return stop_; }
  [[nodiscard]] const std::optional<Refuse>& refusal() const { return refusal_; }
  [[nodiscard]] bool unreachable() const { return unreachable_; }

  // For the checker: the version computed from, and whether all slices of it are one version.
  [[nodiscard]] std::optional<Version> version() const;
  [[nodiscard]] const std::shared_ptr<FloatBuffer>& parameters() const { return current_.values; }

 private:
  // A version of the parameters, whole or arriving.
  struct Held {
    Version version = 0;
    std::shared_ptr<FloatBuffer> values;
    std::vector<bool> arrived;  // by slice
    std::size_t missing = 0;
    Time asked;  // when it was last pulled
  };
  enum class Stage { waiting, computing, done };
  struct Piece {
    Start start;
    Stage stage = Stage::waiting;
    std::vector<Push> pushes;      // said, and to be said again if need be
    std::optional<Report> report;  // once done
  };

  void handle(Time now, NodeId from, const Welcome& welcome, Outbox& out);
  void handle(Time now, NodeId from, const Refuse& refuse, Outbox& out);
  void handle(Time now, NodeId from, const Roster& roster, Outbox& out);
  void handle(Time now, NodeId from, const Start& start, Outbox& out);
  void handle(Time now, NodeId from, const Parameters& parameters, Outbox& out);
  void handle(Time now, NodeId from, const Gone& gone, Outbox& out);
  void handle(Time now, NodeId from, const Again& again, Outbox& out);
  void handle(Time now, NodeId from, const SchedulerBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const Stop& stop, Outbox& out);
  void handle(Time now, NodeId from, const Final& final, Outbox& out);
  void handle(Time now, NodeId from, const Computed& computed, Outbox& out);
  void handle(Time now, NodeId from, const Lost& lost, Outbox& out);
  void handle(Time now, NodeId from, const Alien& alien, Outbox& out);
  void handle(Time now, NodeId from, const Interrupt& interrupt, Outbox& out);

  void announce(const Start& start, Outbox& out);
  void choose_next(Time now, Outbox& out);  // which version to pull, and begins to
  void pull(Time now, Outbox& out);
  void turn_over(Outbox& out);  // the next version is whole: it becomes the current one
  void compute_next(Outbox& out);
  void push_again(const Piece& piece, std::optional<NodeId> shard, Outbox& out);
  [[nodiscard]] NodeId shard_of(std::uint32_t slice) const;

  const Options options_;
  Lifeline lifeline_;
  bool finished_ = false;
  bool unreachable_ = false;
  Stop stop_;
  std::optional<Refuse> refusal_;

  Job job_;
  Term term_ = 0;
  std::vector<Slice> slices_;
  std::optional<BufferPool> pool_;
  std::vector<ShardPlace> shards_;

  Held current_, next_;  // next_.values is null while nothing is being pulled
  std::map<PieceId, Piece> pieces_;
  std::optional<PieceId> computing_;
};

}  // namespace steelyard
