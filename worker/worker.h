// Worker: pulls a version, sends pieces to the compute node, pushes their gradients and reports.
//
// It holds two versions of the parameters: the one that it computes from, and the next one as it arrives. It
// keeps its pushes for a version (HeldPiece, worker/pull_rule.h) until all of the next version has arrived,
// which proves that every slice was closed; until then a push may have to be resent. A pseudo-node computes
// (worker/compute/compute_node.h), so the worker can answer messages meanwhile.
//
// The sync mode's PullRule chooses the versions (worker/pull_rule.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer_pool.h"
#include "core/layout.h"
#include "protocol/machine.h"
#include "protocol/session.h"
#include "protocol/terms.h"
#include "worker/contact.h"
#include "worker/own_steps.h"
#include "worker/profiler.h"
#include "worker/pull_rule.h"
#include "worker/version_buffer.h"

namespace steelyard {

class Worker {
 public:
  struct Options {
    NodeId self;
    Hello hello;
    Session::Timeouts timeout;
    // Called once, with the job: prepares model and data, or throws Failure. May be slow.
    std::function<void(const Welcome&)> prepare;
    // The model, if this worker brings the job's model. Made when the scheduler asks for it.
    struct Model {
      ModelDescription description;
      std::function<Blob(std::uint64_t seed, Interval floats)> weights;  // floats lie inside the layout
    };
    std::function<Model()> model{};
    // Receives the last version of the parameters when the job ends, if that version can be pulled. Empty:
    // the worker does not pull it.
    std::function<void(const Blob& parameters)> last{};
    // Makes an empty file for the state of a worker that takes the optimizer steps.
    OwnSteps::MakeFile state_file{};
    // What computes the model, for the record of the run; called after `prepare`. Empty: not recorded.
    std::function<std::string()> computing{};
  };

  explicit Worker(Options options) : options_(std::move(options)), session_(options_.timeout) {}

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return finished() ? Time::max() : session_.deadline(); }
  [[nodiscard]] bool finished() const { return exit_reason_.reached(); }

  [[nodiscard]] const ExitReason& exit_reason() const { return exit_reason_; }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

  // For the invariant checker: the version computed from.
  [[nodiscard]] std::optional<Version> version() const {
    return current_.begun ? std::optional(current_.version) : std::nullopt;
  }

 private:
  using Stage = HeldPiece::Stage;

  void handle(Time now, NodeId from, const AskModel& ask, Outbox& out);
  void handle(Time now, NodeId from, const AskWeights& ask, Outbox& out);
  void handle(Time now, NodeId from, const Welcome& welcome, Outbox& out);
  void handle(Time, NodeId, const Refuse& refuse, Outbox&) {
    session_.joined() ? ignore() : exit_reason_.refused(refuse);
  }
  void handle(Time now, NodeId from, const Roster& roster, Outbox& out);
  void handle(Time now, NodeId from, const Pong& pong, Outbox& out);
  void handle(Time now, NodeId from, const Start& start, Outbox& out);
  void handle(Time now, NodeId from, const Cut& cut, Outbox& out);
  void handle(Time now, NodeId from, const TryOut& trial, Outbox& out);
  void handle(Time now, NodeId from, const Parameters& parameters, Outbox& out);
  void handle(Time now, NodeId from, const VersionExpired& gone, Outbox& out);
  void handle(Time now, NodeId from, const Resend& again, Outbox& out);
  void handle(Time, NodeId, const SchedulerBeat&, Outbox&) {}
  void handle(Time now, NodeId from, const Stop& stop, Outbox& out);
  void handle(Time now, NodeId from, const GradientReady& final, Outbox& out);
  void handle(Time, NodeId, const ComputeProgress& advance, Outbox& out) {
    ++progress_;
    const PieceProgress told{term_, advance.piece_id, advance.done, advance.micro_batch};
    if (job_.sync.steals_work && !measuring_) out.send<ToScheduler>(scheduler_node, told);
  }
  void handle(Time now, NodeId from, const CutTried& tried, Outbox& out);
  void handle(Time now, NodeId from, const Computed& computed, Outbox& out);
  void handle(Time now, NodeId from, const TrialTooLarge& trial, Outbox& out);
  void handle(Time now, NodeId, const OfOwnSteps auto& said, Outbox& out) {
    own_steps_ ? heed(now, own_steps_->handle(now, said, shards_, out), out) : ignore();
  }
  void handle(Time now, NodeId from, const Disconnected& lost, Outbox& out);
  void handle(Time, NodeId, const VersionMismatch& it, Outbox&) {
    exit_reason_.refused(
        Refuse{Refusal::other_protocol, "the other side uses protocol " + std::to_string(it.protocol) +
                                            ", this worker another: use the same release everywhere"});
  }
  void handle(Time now, NodeId from, const Unreachable& it, Outbox& out);
  void handle(Time now, NodeId from, const Interrupt& interrupt, Outbox& out);
  void handle(Time, NodeId, const MachineLeft& left, Outbox&) { left_ = left.share; }
  void handle(Time, NodeId, const MachineReading& now, Outbox& out);
  void handle(Time, NodeId, const EndRequested& requested, Outbox& out);

  void prepare(const Welcome& welcome) {
    options_.prepare(welcome);
    if (options_.computing) ready_.computing = options_.computing();
  }
  // A piece shows that the scheduler has had a Ready: a later one does not repeat what it recorded.
  [[nodiscard]] HeldPiece new_piece(const Start& start) {
    ready_.computing.clear();
    return {start, Stage::waiting, std::exchange(spare_, {}), std::nullopt};
  }
  void beat(Outbox& out);
  void ping(Outbox& out);  // shards that have not answered
  void repeat_to_newcomers(const std::vector<ShardPlace>& former, Outbox& out);
  void answered(Time now, NodeId shard, Outbox& out);
  void get_ready(Time now, Outbox& out);    // measures what is left of the profile, then sends Ready
  void choose_next(Time now, Outbox& out);  // starts the next pull, if one is needed
  void heed(Time now, OwnSteps::Change change, Outbox& out);
  void lose_state(Time now, Outbox& out);
  [[nodiscard]] PullRule::View view() const { return {pieces_, current_, next_, computing_.has_value()}; }
  void begin_pull(Time now, const PullRule::Wanted& wanted, Outbox& out);
  void pull(std::optional<NodeId> from, Outbox& out);
  void acknowledge(NodeId shard, Outbox& out);
  // On Stop or Interrupt, with or without the last version.
  void leave(Outbox& out, const std::string& failure = {});
  void drop_open_pieces(Outbox& out);
  void turn_over(Outbox& out);  // the next version is complete: makes it the current one
  void compute_next(Outbox& out);
  void drop_trial(Outbox& out);
  // Pushes again to one shard, or to all: on Resend, and to a shard with a new connection or one that
  // replaced another.
  void push_again(const HeldPiece& piece, std::optional<NodeId> shard, Outbox& out);
  void push_awaited(Outbox& out);  // resends the pushes that a late pull names as its own
  template <class Past>
  void forget(Past past);  // drops the pieces for which it returns true
  [[nodiscard]] HeldPiece* find(PieceId id);
  [[nodiscard]] bool is_pushed_whole(const HeldPiece& piece) const;
  [[nodiscard]] bool is_over(Round round) const { return current_.begun && round < current_.version; }
  void ignore() { ++ignored_; }

  const Options options_;
  Session session_;
  ExitReason exit_reason_;

  Job job_;
  std::unique_ptr<const PullRule> rule_;
  Term term_ = 0;
  std::vector<Slice> slices_;
  std::optional<BufferPool> pool_;
  std::vector<ShardPlace> shards_;
  MirrorTrials mirrors_;
  Reach reach_;
  std::uint64_t progress_ = 0;         // WorkerBeat::progress
  double left_ = -1;                   // WorkerBeat::left
  MachineReading reading_;             // WorkerBeat::now
  bool reading_due_ = false;           // not sent since the last report
  EndRequest end_ = EndRequest::none;  // WorkerBeat::end

  std::optional<Profiler> profiler_;  // until the profile is measured, in a job that has one
  Blob trial_parameters_;
  bool measuring_ = false;  // the compute node has a trial
  Ready ready_;
  std::optional<OwnSteps> own_steps_;  // if workers take the optimizer steps

  VersionBuffer current_, next_;  // next_.begun is false while nothing is being pulled
  std::uint64_t last_ticket_ = 0;
  std::map<NodeId, std::uint32_t> arrived_;  // slices, since the last pull from each shard
  PullTimeout timeout_;
  std::vector<HeldPiece> pieces_;  // by id
  RecentReports recent_;
  std::vector<Push> spare_;  // empty; its memory is reused by the next piece
  std::optional<PieceId> computing_;
  std::optional<Piece> trial_;           // being computed to measure it; not among pieces_
  std::optional<Options::Model> model_;  // from AskModel to Welcome
  std::optional<Stop> stop_;             // set while the last version or an acknowledgement is awaited
  Time patience_;                        // deadline of that wait
  std::uint64_t ignored_ = 0;
};

}  // namespace steelyard
