// All messages, in the order of a round. Each message is a small struct, and each receiver has a variant of
// the messages that it handles: sending to the wrong role does not compile, nor does an unhandled message.
//
// Intervals of positions belong to the permutation of one epoch (in an evaluation, to the test set). Slices
// are numbered over the whole model. Sizes are in floats. Rounds and versions share their numbers: round k
// computes from version k of the parameters and makes version k + 1. Where pushes are applied on arrival
// (protocol/sync_mode.h), a round computes from the parameters available then, and version v contains all
// rounds below v.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/buffer.h"
#include "core/device_name.h"
#include "core/interval.h"
#include "core/time.h"
#include "protocol/blob.h"
#include "protocol/fields.h"
#include "protocol/job.h"
#include "protocol/local_steps.h"
#include "protocol/node.h"
#include "protocol/optional_messages.h"
#include "protocol/state_messages.h"

namespace steelyard {

// What other programs leave of a worker's machine. Worker -> scheduler, inside other messages. Also a message
// by itself, compute -> worker, while the compute node waits for its next task.
struct MachineReading {
  double cpu = -1;     // share of the processor, 0..1; -1: unknown
  double memory = -1;  // MB; -1: unknown
  void serialize(auto& fields) { fields(measured(cpu), measured(memory)); }
};

// ---- joining

// Worker, shard -> scheduler: the first message of each, repeated until answered.
struct Hello {
  std::uint64_t fingerprint = 0;  // of the job that the node was started for; 0: any job
  std::string name;               // for display (protocol/node.h); unique among the live nodes
  std::string endpoint;           // shards: the bulk port that workers connect to
  DeviceKind kind{};              // of workers
  std::uint64_t max_batch = 0;    // workers: most positions of a piece that fit in memory; 0: no limit
  bool mirror = false;            // shards: prefers to be a mirror
  static constexpr Roles senders{Role::worker, Role::shard};
  void serialize(auto& fields) {
    fields(fingerprint, bounded(name, limits::name), bounded(endpoint, limits::endpoint),
           upto(kind, DeviceKind::gpu), max_batch, mirror);
  }
};

// replaced: the node was declared lost and another took its place; a server may rejoin as an empty one.
enum class Refusal : std::uint8_t {
  other_job,
  other_protocol,
  full,
  finished,
  name,
  endpoint,
  memory,
  replaced
};

struct Refuse {
  Refusal reason = Refusal::other_job;
  std::string text;  // what is wrong, and the remedy
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(upto(reason, Refusal::replaced), for_people(text, limits::text)); }
};

struct Welcome {
  Term term = 0;
  std::uint32_t slot = 0;  // index among the workers, or among the shards
  Shared<Job> job{};       // shared, because a Job by value would enlarge every Message
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, slot, job); }
};

// The addresses of the shards. Scheduler -> workers and checkpointer, again after every change.
struct ShardPlace {
  NodeId node;
  std::string endpoint;
  std::uint32_t first = 0, last = 0;  // the shard's slices: [first, last)
  std::string name{};                 // for display
  NodeId mirror{};                    // takes its place if it is lost; another role than shard: no mirror
  std::string mirror_endpoint{};
  [[nodiscard]] bool has_mirror() const { return mirror.role == Role::shard; }
  void serialize(auto& fields) {
    fields(node, bounded(endpoint, limits::endpoint), first, last, bounded(name, limits::name), mirror,
           bounded(mirror_endpoint, limits::endpoint));
  }
};
struct Roster {
  std::vector<ShardPlace> shards;
  std::uint64_t number = 0;  // grows with every change
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(bounded(shards, limits::shards), number); }
};

// Worker -> shard: tests the bulk connection, which carries parameters and gradients.
struct Ping {
  Term term = 0;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term); }
};
struct Pong {  // shard -> worker
  Term term = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term); }
};

// Worker -> scheduler: it has opened data and model, and every shard has answered; pieces can be assigned.
// Sent again after each Roster, which a worker that is not ready receives with every heartbeat.
struct Ready {
  std::vector<BatchTime> times{};  // Job::profile: compute times, in ascending order of the samples
  std::uint64_t most = 0;  // the largest batch that fitted in memory when a larger one did not; 0: all fitted
  // If workers take the steps: false while the worker lacks the model's state (protocol/state_messages.h).
  bool has_state = true;
  std::uint64_t loading = 0;  // without it: the attempt that it is loading; 0: none
  std::string computing{};    // for display: what computes its model, if that is worth recording
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(bounded(times, limits::batch_times), most, has_state, loading,
           for_people(computing, limits::text));
  }
};

// ---- a round

// Some of a round's positions, which one worker at a time must compute. The pushed values depend only on job,
// term, parameters and piece, not on the worker that computes them.
struct Piece {
  PieceId id = 0;
  Round round = 0;
  Purpose purpose = Purpose::train;
  std::uint64_t epoch = 0;
  Interval positions;
  Interval whole{};  // the round's positions; they determine the rates of local steps
  LocalSteps local{};
  HubNumber hub = whole_model;  // computed from this hub's parameters and added to this hub's average
  friend bool operator==(const Piece&, const Piece&) = default;
  void serialize(auto& fields) {
    fields(id, round, upto(purpose, Purpose::evaluate), epoch, positions, whole, local, hub);
  }
};

// Scheduler -> shards: announces a round. Shards know rounds from no other message.
struct BeginRound {
  Term term = 0;
  Round round = 0;
  std::uint64_t epoch = 0;
  Interval positions;
  std::uint64_t quorum = 0;   // number of positions, `skipped` included, that close a slice; in every mode
  bool clip_barrier = false;  // a covered slice waits for Commit
  bool save = false;          // keep the version that this round makes until its checkpoint is saved
  LocalSteps local{};         // if set, pushes are differences made by local steps, not gradients
  // Parts of `positions`, in order, that belong to other rounds (SyncMode::backup). They count as covered, so
  // no push is added there.
  std::vector<Interval> skipped{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) {
    fields(term, round, epoch, positions, quorum, clip_barrier, save, local,
           bounded(skipped, limits::skipped));
  }
};

// Scheduler -> worker: assigns the piece. The worker then owes it: it must push and report it.
struct Start {
  Term term = 0;
  Piece piece;
  // The version to compute from: exactly this one or, where pushes are applied on arrival, any parameters
  // that contain all rounds below it.
  Version least = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, piece, least); }
};

// Scheduler -> worker: computes the piece, which another worker owes, only to measure its own time, with the
// parameters that it has; pushes nothing. A Report answers. Not repeated if it is lost, and dropped by the
// worker if it gets a piece of its own: the policy tries it again later.
struct TryOut {
  Term term = 0;
  Piece piece;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, piece); }
};

// A push that a worker has made.
struct Contribution {
  Round round = 0;
  Interval positions;
  void serialize(auto& fields) { fields(round, positions); }
};

// Worker -> shard: requests all slices of the shard in exactly this version. The shard sends each slice when
// it has that version. Where pushes are applied on arrival: in this version or a later one that contains all
// of `own`, so the answer also acknowledges those pushes.
struct Pull {
  Term term = 0;
  Version version = 0;
  std::uint64_t ticket = 0;  // repeated in the answer, to tell it from answers to older pulls
  std::vector<Contribution> own{};
  bool difference = false;      // the worker has all of the preceding version: send the difference to it
  HubNumber hub = whole_model;  // the hub whose parameters are requested
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(term, version, ticket, bounded(own, limits::pieces), difference, hub);
  }
};
// Worker -> shard: number of slices received in answer to this pull; the shard may send more (pull_window).
struct PullAck {
  Term term = 0;
  std::uint64_t ticket = 0;
  std::uint32_t arrived = 0;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, ticket, arrived); }
};
struct Parameters {
  Term term = 0;
  Version version = 0;
  std::uint32_t slice = 0;
  Blob values;
  std::uint64_t ticket = 0;
  std::uint64_t steps = 0;  // that the slice has taken in total; staleness is counted from it
  bool difference = false;  // coded by Job::pull_encoding; the receiver adds it to the preceding version
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, version, slice, values, ticket, steps, difference); }
};
// Shard -> worker: the requested version is superseded and no longer kept.
struct VersionExpired {
  Version wanted = 0, oldest = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(wanted, oldest); }
};

// Worker -> shard: one piece, one slice. `values` is the sum of the gradients over the positions, so values /
// weight is their mean; encoded by Job::push_encoding. With local steps: protocol/local_steps.h.
struct Push {
  Term term = 0;
  Piece piece;  // its round is also the version it was computed from, unless pushes are applied on arrival
  double weight = 0;  // the number of positions, or GradientReady::weight
  std::uint32_t slice = 0;
  Blob values;
  std::uint64_t steps = 0;  // Parameters::steps of the slice in the parameters it was computed from
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, piece, weight, slice, values, steps); }
};

// Worker -> scheduler, when a piece is computed.
struct Report {
  Term term = 0;
  Piece piece;
  double seconds = 0;            // forward and backward only
  double loss = 0;               // summed over the positions, each times its weight
  std::uint64_t correct = 0;     // UINT64_MAX: not counted (protocol/uncounted.h)
  double cpu = -1, memory = -1;  // available: mean share of the processor, 0..1, and MB; -1: unknown
  MachineReading now{};          // at the end of the piece, over about the last 100 ms
  double weight = 0;             // summed over the positions; 0: each has a weight of 1
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(term, piece, seconds, anything(loss), correct, measured(cpu), measured(memory), now, weight);
  }
};

struct GradientRejected {  // shard -> scheduler: a push was rejected
  Term term = 0;
  Piece piece;
  std::uint32_t slice = 0;
  NodeId worker;
  double excess = 0;  // its norm is this many times the usual one; 0: it contains infinities or NaN
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, piece, slice, worker, excess); }
};

// With a clip barrier. Shard -> scheduler (Covered): slices [first, first + squares.size()) are covered;
// `squares` are the sums of squares of their averaged gradients. Scheduler -> shard, once all shards have
// reported (Commit): multiply the gradients by this scale and take the step.
struct Covered {
  Term term = 0;
  Round round = 0;
  std::uint32_t first = 0;
  std::vector<double> squares;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, round, first, anything(squares, limits::slices_of_shard)); }
};
struct Commit {
  Term term = 0;
  Round round = 0;
  double scale = 1;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, round, scale); }
};

// Shard -> scheduler: all slices of this shard have this version.
struct Closed {
  Term term = 0;
  Version version = 0;
  Staleness staleness{};  // of all pushes that this shard has applied
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, version, bounded(staleness, limits::staleness)); }
};

// Scheduler -> worker: shards lack this whole piece, which the worker has reported; push it again, to all
// shards. Follows from ShardBeat::gaps (Assignments::repair_gap).
struct Resend {
  Term term = 0;
  Round round = 0;
  Interval positions;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, round, positions); }
};

// ---- at all times

// Heartbeats report the state of their sender. Messages may be lost: their sender resends all that a
// heartbeat does not confirm. A worker without open pieces also sends one when it has read its machine after
// a report, for the next plan; any worker sends one when its program requests the end of the job.
struct WorkerBeat {
  Term term = 0;
  std::vector<PieceId> held;        // pieces received and not yet reported
  std::uint64_t roster = 0;         // Roster::number of the roster in use; 0: none yet
  std::vector<NodeId> unreached{};  // shards and mirrors that have not answered the worker
  std::uint64_t progress = 0;       // grows with every slice received and every micro-batch computed
  double left = -1;      // MachineLeft::share of a background worker; -1: unknown, or another worker
  MachineReading now{};  // the latest
  EndRequest end{};      // of this worker's program
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(term, bounded(held, limits::pieces), roster, bounded(unreached, limits::shards), progress, left,
           now, upto(end, EndRequest::now));
  }
};
struct ShardBeat {
  Term term = 0;
  Version version = 0;  // the lowest of its slices
  Round opened = 0;     // the shard has received BeginRound of all rounds below this number
  bool loaded = false;  // it has its initial state
  // The first gaps of single slices in its oldest open round, each listed once. Pieces still being computed
  // are gaps, too; the scheduler decides which gaps are lost pushes (Assignments::repair_gap). Gaps are not
  // merged: a push that overlaps covered positions is dropped, so the union of two slices' gaps would repair
  // neither.
  std::vector<Interval> gaps;
  bool covered = false;     // with a clip barrier: waiting for Commit
  std::uint64_t added = 0;  // pushes added since the process started: shows that pushes arrive
  std::uint64_t parts = 0;  // slots of slices of the initial state that have arrived
  std::uint64_t parts_in_all = 0;
  MirrorState mirror{};
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) {
    fields(term, version, opened, loaded, bounded(gaps, limits::gaps), covered, added, parts, parts_in_all,
           mirror);
  }
};
struct SilentShard {  // has not answered the checkpointer for some seconds
  NodeId node;
  std::string why{};  // if known
  void serialize(auto& fields) { fields(node, for_people(why, limits::text)); }
};
struct CheckpointerBeat {
  std::vector<SilentShard> silent{};
  std::uint64_t roster = 0;  // Roster::number of the roster in use; 0: none yet
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(bounded(silent, limits::shards), roster); }
};
struct SchedulerBeat {
  Term term = 0;
  // The scheduler with the highest generation leads the job. A standby's take-over raises it.
  std::uint64_t generation = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, generation); }
};

// ---- the end

// Scheduler -> all: the job has ended. Sent to servers after the workers have left, because a worker may
// still pull the last version.
struct Stop {
  Outcome outcome = Outcome::finished;
  std::string text{};
  bool has_last = false;  // there is a valid last version to keep:
  Version last = 0;
  NodeId keeper{};  // the one worker that should save the results
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) {
    fields(upto(outcome, Outcome::worker_failed), for_people(text, limits::text), has_last, last, keeper);
  }
};
// Worker, shard -> scheduler: sent before exit. Other workers get a worker's unfinished pieces.
struct Goodbye {
  std::string failure;  // a permanent failure, which a restart would repeat; empty: exit was requested
  static constexpr Roles senders{Role::worker, Role::shard};
  void serialize(auto& fields) { fields(for_people(failure, limits::text)); }
};
// Host, compute -> machine: shut this process down in an orderly way.
struct Interrupt {
  std::string failure{};   // why it cannot continue; empty: a shutdown was requested
  bool save_only = false;  // to the scheduler: save a checkpoint after the next round, and continue
  void serialize(auto& fields) { fields(failure, save_only); }
};

// ---- on one machine

// Worker -> compute. Without parameters it announces the piece, so that its samples can be prepared; the same
// message with parameters follows.
struct Compute {
  Piece piece;
  Blob parameters{};   // the whole flat buffer
  bool trial = false;  // measures the time only: no gradient is sent (worker/profiler.h)
};
struct Abandon {  // worker -> compute: drop the pieces of all rounds below this
  Round before = 0;
};
struct GradientReady {  // compute -> worker: the gradient of this slice is final
  Round round = 0;
  PieceId piece_id = 0;
  std::uint32_t slice = 0;
  Blob values;
  double weight = 0;  // of the piece; 0: its number of positions
};
struct Computed {  // compute -> worker
  Report report;   // the worker fills in `term`
};
struct TrialTooLarge {};  // compute -> worker: the memory does not hold the trial

// ---- one variant per receiver
using ToScheduler =
    std::variant<Hello, ModelDescription, Weights, Ready, PieceProgress, CutAnswer, Report, GradientRejected,
                 Covered, Closed, StateUploaded, WorkerBeat, ShardBeat, CheckpointerBeat, Saved, Goodbye,
                 Follow, JournalAck, Arbitrates, LeaderGrant, Disconnected, VersionMismatch, Interrupt>;
using ToShard = std::variant<Welcome, Refuse, StateOffer, StateChunk, Ping, BeginRound, Pull, PullAck, Push,
                             Commit, Fetch, Saved, PutState, GetState, Mirror, MirrorOf, Promote, Replicate,
                             ReplicateAck, IdleTick, Arbitrate, LeaderClaim, SchedulerBeat, Stop,
                             Disconnected, VersionMismatch, Interrupt>;
using ToWorker =
    std::variant<AskModel, AskWeights, Welcome, Refuse, Roster, Pong, Start, Cut, TryOut, Parameters,
                 VersionExpired, Resend, UploadState, LoadState, StateStored, WorkerState, SchedulerBeat,
                 Stop, GradientReady, ComputeProgress, CutTried, Computed, TrialTooLarge, StepTaken,
                 StateWritten, StateLost, Disconnected, VersionMismatch, Unreachable, Interrupt, MachineLeft,
                 MachineReading, EndRequested>;
using ToCheckpointer =
    std::variant<Roster, StateRequest, Save, State, NotYet, VersionExpired, StateStored, WorkerState,
                 SchedulerBeat, Stop, Disconnected, VersionMismatch, Unreachable>;
using ToStandby = std::variant<Following, JournalPart, LeaderGrant, Stop, Disconnected, VersionMismatch,
                               Unreachable, Interrupt>;
using ToCompute = std::variant<Compute, Cut, Abandon, TakeStep, WriteState, ReadState>;
using ToRecorder = std::variant<RoundRecord, Note, Ended>;
using ToLink = std::variant<Connect, Disconnect>;

using Message =
    std::variant<ToScheduler, ToShard, ToWorker, ToCheckpointer, ToStandby, ToCompute, ToRecorder, ToLink>;

}  // namespace steelyard
