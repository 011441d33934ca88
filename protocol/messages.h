// All that is ever said, in the order of a round. One small struct a message, one variant per receiver: a
// message to the wrong role does not compile, and a role that forgets to handle one does not either.
//
// Intervals of positions belong to the permutation of one epoch (or, in an evaluation, to the test set).
// Slices are numbered over the whole model. Sizes are in floats. Rounds and versions count together: round k
// computes from version k of the parameters and makes version k + 1. Where pushes are applied at once
// (protocol/sync_mode.h) it computes from what is there, and a version says which rounds are in it: all
// below.
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

namespace steelyard {

// ---- joining

// First words of every node to the scheduler, repeated until answered.
struct Hello {
  std::uint64_t fingerprint = 0;  // of the job it was started for; 0: "I take the scheduler's"
  std::string name;               // what people call it: protocol/node.h; unique among those alive
  std::string endpoint;           // shards: where workers find its bulk port
  DeviceKind kind{};              // of workers
  std::uint64_t max_batch = 0;    // workers: positions that fit its memory in one piece; 0: no limit
  bool mirror = false;            // shards: it would rather be another one's mirror
  static constexpr Roles senders{Role::worker, Role::shard};
  void serialize(auto& fields) {
    fields(fingerprint, bounded(name, limits::name), bounded(endpoint, limits::endpoint),
           upto(kind, DeviceKind::gpu), max_batch, mirror);
  }
};

// replaced: it was taken for lost, and another one is in its place; a server may begin anew.
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
  std::string text;  // what is wrong and what to do
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(upto(reason, Refusal::replaced), for_people(text, limits::text)); }
};

struct Welcome {
  Term term = 0;
  std::uint32_t slot = 0;  // its place among the workers, or among the shards
  Shared<Job> job{};       // a Job would make every message as large as this rare one
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, slot, job); }
};

// Where the shards are; to workers and the checkpointer, again whenever it changes.
struct ShardPlace {
  NodeId node;
  std::string endpoint;
  std::uint32_t first = 0, last = 0;  // its slices: [first, last)
  std::string name{};                 // what people call it
  NodeId mirror{};                    // that may take its place; of another role: there is none
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

// Worker -> shard, over the connection on which parameters and gradients travel: do we reach each other?
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

struct StatePart {  // of a model: slot 0 of a slice holds parameters, 1.. optimizer state
  std::uint32_t slice = 0;
  std::uint32_t slot = 0;
  friend auto operator<=>(const StatePart&, const StatePart&) = default;
  void serialize(auto& fields) { fields(slice, slot); }
};
struct StateOffer {  // checkpointer -> shard: the state to begin with can be had; with every roster
  Term term = 0;
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(term); }
};
// Shard -> checkpointer: send these parts, a few at a time. Answers every StateOffer.
struct StateRequest {
  Term term = 0;
  std::vector<StatePart> parts;
  bool loaded = false;  // I have them all
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, bounded(parts, limits::parts), loaded); }
};
struct StateChunk {  // checkpointer, or primary -> shard: a part of the state to begin with
  Term term = 0;
  Version version = 0;
  std::uint32_t slice = 0;
  std::uint32_t slot = 0;
  std::uint64_t steps = 0;  // optimizer steps taken so far
  Blob values;
  bool before = false;  // only what is told of the version before that, in case somebody still needs it
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(term, version, slice, slot, steps, values, before); }
};

// Worker -> scheduler: data and model are there, every shard has answered, work may come.
struct Ready {
  static constexpr Roles senders{Role::worker};
};

// ---- a round

// Some of a round's positions, owed by one worker at a time. What is pushed for it follows from job, term,
// parameters and this alone, whoever computes it.
struct Piece {
  PieceId id = 0;
  Round round = 0;
  Purpose purpose = Purpose::train;
  std::uint64_t epoch = 0;
  Interval positions;
  Interval whole{};  // the round's positions, which the rates of local steps follow
  LocalSteps local{};
  HubNumber hub = whole_model;  // whose parameters it is computed from, and whose average it goes into
  friend bool operator==(const Piece&, const Piece&) = default;
  void serialize(auto& fields) {
    fields(id, round, upto(purpose, Purpose::evaluate), epoch, positions, whole, local, hub);
  }
};

// Scheduler -> shards: the round exists. Shards learn what a round is from this alone.
struct BeginRound {
  Term term = 0;
  Round round = 0;
  std::uint64_t epoch = 0;
  Interval positions;
  std::uint64_t quorum = 0;   // positions that close a slice
  bool clip_barrier = false;  // a covered slice waits for Commit
  bool save = false;          // keep the version that this round makes until the checkpointer has it
  LocalSteps local{};         // what is pushed is how far local steps came, not gradients
  // Parts of `positions` that are not of this round, in their order (SyncMode::backup): nothing is added
  // there, and they count as covered.
  std::vector<Interval> skipped{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) {
    fields(term, round, epoch, positions, quorum, clip_barrier, save, local,
           bounded(skipped, limits::skipped));
  }
};

// Scheduler -> worker: you owe this piece.
struct Start {
  Term term = 0;
  Piece piece;
  // The parameters to compute from: this version exactly or, where pushes are applied at once, all rounds
  // below it and perhaps more.
  Version least = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, piece, least); }
};

// Something that a worker has pushed.
struct Contribution {
  Round round = 0;
  Interval positions;
  void serialize(auto& fields) { fields(round, positions); }
};

// Worker -> shard: all your slices, exactly of this version; answered slice by slice as they close. Where
// pushes are applied at once: of this version at least, and with all of `own` in, which makes the answer the
// acknowledgement of those pushes.
struct Pull {
  Term term = 0;
  Version version = 0;
  std::uint64_t ticket = 0;  // comes back with the answer: it is not one to an older question
  std::vector<Contribution> own{};
  bool difference = false;  // the asker has all of the version before, and takes what is to be added to it
  HubNumber hub = whole_model;  // whose
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(term, version, ticket, bounded(own, limits::pieces), difference, hub);
  }
};
// Worker -> shard: so many slices have come in answer to this pull, and more may be sent (pull_window).
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
  std::uint64_t steps = 0;  // that the slice has made, in all: what staleness is counted from
  bool difference = false;  // coded as Job::pull_encoding says, and to be added to the version before
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, version, slice, values, ticket, steps, difference); }
};
// Shard -> worker: that version is past and can no longer be had.
struct VersionExpired {
  Version wanted = 0, oldest = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(wanted, oldest); }
};

// Worker -> shard: one piece, one slice. `values` is the sum over the positions, already multiplied by its
// weight, and coded as protocol/float_code.h says. With local steps: protocol/local_steps.h.
struct Push {
  Term term = 0;
  Piece piece;  // its round is also the version it was computed from, unless pushes are applied at once
  double weight = 0;
  std::uint32_t slice = 0;
  Blob values;
  std::uint64_t steps = 0;  // of the slice that it was computed from (Parameters::steps)
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, piece, weight, slice, values, steps); }
};

// Worker -> scheduler, as soon as a piece is computed.
struct Report {
  Term term = 0;
  Piece piece;
  double seconds = 0;  // forward and backward only
  double loss = 0;     // summed over the positions
  std::uint64_t correct = 0;
  double cpu = -1;     // share of the processor that is free for us, 0..1; -1: unknown
  double memory = -1;  // available, MB
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(term, piece, seconds, anything(loss), correct, measured(cpu), measured(memory));
  }
};

struct GradientRejected {  // shard -> scheduler: a push was refused, for such numbers or for its length
  Term term = 0;
  Piece piece;
  std::uint32_t slice = 0;
  NodeId worker;
  double excess = 0;  // so many times as long as usual; 0: it has numbers that are not finite
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, piece, slice, worker, excess); }
};

// With a clip barrier. Shard -> scheduler: slices [first, first + squares.size()) are covered; the sums of
// squares of their averaged gradients. Scheduler -> shard, when all shards have told: apply, times this
// scale.
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

// Shard -> scheduler: all my slices have this version.
struct Closed {
  Term term = 0;
  Version version = 0;
  Staleness staleness{};  // of all pushes applied here so far
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, version, bounded(staleness, limits::staleness)); }
};

// Scheduler -> worker: shards still miss this piece that you reported; push it again. Follows from
// ShardBeat::gaps (Assignments::repair_gap).
struct Resend {
  Term term = 0;
  Round round = 0;
  Interval positions;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, round, positions); }
};

// ---- at all times

// What a party holds and misses. No message is trusted to arrive: whatever is not
// confirmed here is sent again.
struct WorkerBeat {
  Term term = 0;
  std::vector<PieceId> held;        // pieces it knows of and has not reported
  std::uint64_t roster = 0;         // Roster::number of the one it goes by; 0: none yet
  std::vector<NodeId> unreached{};  // shards that have not answered it
  std::uint64_t progress = 0;       // grows with every slice that arrives and with every micro-batch
  double left = -1;  // of a polite worker: MachineLeft::share; -1: it is not polite, or it is not known
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(term, bounded(held, limits::pieces), roster, bounded(unreached, limits::shards), progress, left);
  }
};
struct ShardBeat {
  Term term = 0;
  Version version = 0;  // the lowest of its slices
  Round opened = 0;     // rounds below this number have been opened here
  bool loaded = false;  // it has its first state
  // Of its oldest open round: what single slices miss, each gap once and none joined, the first ones. Two
  // slices that miss a half of a piece each are not repaired by pushing the whole again.
  std::vector<Interval> gaps;
  bool covered = false;     // with a clip barrier: it waits for Commit
  std::uint64_t added = 0;  // pushes added to a slice since it started: grows while pushes get through
  std::uint64_t parts = 0;  // of its first state: slots of slices that have arrived
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
  std::string why{};  // as far as that is known
  void serialize(auto& fields) { fields(node, for_people(why, limits::text)); }
};
struct CheckpointerBeat {
  std::vector<SilentShard> silent{};
  std::uint64_t roster = 0;  // Roster::number of the one it goes by; 0: none yet
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(bounded(silent, limits::shards), roster); }
};
struct SchedulerBeat {
  Term term = 0;
  // Of schedulers of one job the one with the highest number leads. It grows when a standby takes over.
  std::uint64_t generation = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, generation); }
};

// ---- saving
struct Save {  // scheduler -> checkpointer
  Progress progress;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(progress); }
};
struct Fetch {  // checkpointer -> shard: these parts of this version, a few at a time
  Version version = 0;
  std::vector<StatePart> parts{};
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(version, bounded(parts, limits::parts)); }
};
// Shard -> checkpointer: some of what was fetched is still to come: I have not closed that round.
struct NotYet {
  Version version = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(version); }
};
struct State {  // shard -> checkpointer
  Version version = 0;
  std::uint32_t slice = 0;
  std::uint32_t slot = 0;
  std::uint64_t steps = 0;
  Blob values;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(version, slice, slot, steps, values); }
};
struct Saved {  // checkpointer -> scheduler and shards: it is safe, or why it is not
  Version version = 0;
  bool ok = false;
  std::string text;  // path, or reason
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(version, ok, for_people(text, limits::text)); }
};

// ---- the end

// Scheduler -> all: workers first, and servers when they have left, for a worker may pull the last version.
struct Stop {
  Outcome outcome = Outcome::finished;
  std::string text{};
  bool has_last = false;  // there is a sound version to go home with:
  Version last = 0;
  NodeId keeper{};  // the worker that is to keep the results, of all that have them
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) {
    fields(upto(outcome, Outcome::worker_failed), for_people(text, limits::text), has_last, last, keeper);
  }
};
// Worker, shard -> scheduler: I go; what a worker owes is others' now.
struct Goodbye {
  std::string failure;  // why it cannot go on, and would not a second time; empty: it was told to leave
  static constexpr Roles senders{Role::worker, Role::shard};
  void serialize(auto& fields) { fields(for_people(failure, limits::text)); }
};
// Host, compute -> machine: this process is to end in an orderly way.
struct Interrupt {
  std::string failure{};  // why it cannot go on; empty: it was asked to
  void serialize(auto& fields) { fields(failure); }
};

// ---- on one machine

// Worker -> compute. Without parameters it is an announcement: the same will come with them, so the
// data may be prepared.
struct Compute {
  Piece piece;
  Blob parameters{};  // all of them, flat
};
struct Abandon {  // worker -> compute: give up whatever round is older than this
  Round before = 0;
};
struct GradientReady {  // compute -> worker: the gradient of this slice will not change any more
  Round round = 0;
  PieceId piece_id = 0;
  std::uint32_t slice = 0;
  Blob values;
  double weight = 0;  // of the piece; 0: as many as its positions
};
struct Computed {  // compute -> worker
  Report report;   // term is the worker's to fill in
};

// ---- one variant per receiver
using ToScheduler =
    std::variant<Hello, ModelDescription, Weights, Ready, PieceProgress, CutAnswer, Report, GradientRejected,
                 Covered, Closed, WorkerBeat, ShardBeat, CheckpointerBeat, Saved, Goodbye, Follow, JournalAck,
                 Arbitrates, LeaderGrant, Disconnected, VersionMismatch, Interrupt>;
using ToShard =
    std::variant<Welcome, Refuse, StateOffer, StateChunk, Ping, BeginRound, Pull, PullAck, Push, Commit,
                 Fetch, Saved, Mirror, MirrorOf, Promote, Replicate, ReplicateAck, IdleTick, Arbitrate,
                 LeaderClaim, SchedulerBeat, Stop, Disconnected, VersionMismatch, Interrupt>;
using ToWorker =
    std::variant<AskModel, AskWeights, Welcome, Refuse, Roster, Pong, Start, Cut, Parameters, VersionExpired,
                 Resend, SchedulerBeat, Stop, GradientReady, ComputeProgress, CutTried, Computed,
                 Disconnected, VersionMismatch, Unreachable, Interrupt, MachineLeft>;
using ToCheckpointer = std::variant<Roster, StateRequest, Save, State, NotYet, VersionExpired, SchedulerBeat,
                                    Stop, Disconnected, VersionMismatch, Unreachable>;
using ToStandby = std::variant<Following, JournalPart, LeaderGrant, Stop, Disconnected, VersionMismatch,
                               Unreachable, Interrupt>;
using ToCompute = std::variant<Compute, Cut, Abandon>;
using ToRecorder = std::variant<RoundRecord, Note, Ended>;
using ToLink = std::variant<Connect, Disconnect>;

using Message =
    std::variant<ToScheduler, ToShard, ToWorker, ToCheckpointer, ToStandby, ToCompute, ToRecorder, ToLink>;

}  // namespace steelyard
