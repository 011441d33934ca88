// Messages beside those of a round: records for people, links, standby, mirrors, hand-over of work, and
// models that workers bring.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/interval.h"
#include "core/layout.h"
#include "protocol/blob.h"
#include "protocol/fields.h"
#include "protocol/node.h"
#include "protocol/terms.h"

namespace steelyard {

// What the scheduler tells the recorder: what people see of a run.
struct RoundRecord {
  Round round = 0;
  Purpose purpose = Purpose::train;
  std::uint64_t epoch = 0;
  Interval positions;
  std::uint64_t passes = 1;   // epochs in which these positions were walked
  double rate = 0;            // learning rate
  std::uint64_t skipped = 0;  // positions among them that are of other rounds (BeginRound::skipped)
  [[nodiscard]] std::uint64_t samples() const { return (positions.size() - skipped) * passes; }
  // From its begin, or from when the round before it was done if that was later, to its last report: so
  // rounds that overlap have lengths that add up to the time of the training.
  double seconds = 0;
  double loss = 0;      // mean over the samples
  double accuracy = 0;  // of all labels of all samples, the share that was right
  struct Part {
    std::uint32_t slot = 0;
    std::string name;
    std::uint64_t share = 0;
    double seconds = 0;
  };
  std::vector<Part> parts;
  Staleness staleness{};  // of the run, as far as the shards have told
};
struct Note {  // something worth a line: a node came or was lost, a version was saved
  std::string text;
  void serialize(auto& fields) { fields(text); }
};
struct Ended {
  Outcome outcome = Outcome::finished;
  std::string text;
  Progress progress;
  Staleness staleness{};  // of the run
};

// Between a machine and its link, which is on the same machine.

// Link -> machine: the connection to this node is gone, and with it whatever was on its way.
struct Disconnected {
  NodeId node;
  void serialize(auto& fields) { fields(node); }
};
// Link -> machine: a node speaks another version of the protocol.
struct VersionMismatch {
  std::uint32_t protocol = 0;
  void serialize(auto& fields) { fields(protocol); }
};
struct Unreachable {  // link -> machine: it cannot even try to connect to this endpoint
  NodeId node;
  std::string endpoint;
  std::string why;
};
struct Connect {  // machine -> link
  NodeId node;
  std::string endpoint;
};
struct Disconnect {
  NodeId node;
};

// What is said of a standby: a scheduler on another machine that has the journal of the one that leads, and
// leads in its place when that is lost (scheduler/recovery/standby_feed.h, scheduler/recovery/standby.h).

// Standby -> scheduler, repeated until answered: let me have the journal. Each time of following has a number
// of its own, drawn at random.
struct Follow {
  std::string build;  // only the same reads the journal
  std::uint64_t attempt = 0;
  static constexpr Roles senders{Role::standby};
  void serialize(auto& fields) { fields(bounded(build, limits::label), attempt); }
};
// Scheduler -> standby: the journal follows, from its first byte on.
struct Following {
  std::uint64_t attempt = 0;
  std::int64_t now = 0;   // ns on the scheduler's clock
  std::string refusal{};  // not empty: no, and why
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(attempt, now, for_people(refusal, limits::text)); }
};
struct JournalPart {  // scheduler -> standby, in order
  std::uint64_t attempt = 0;
  std::uint64_t begin = 0;  // of `bytes` in the journal
  std::string bytes{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(attempt, begin, bounded(bytes, limits::journal_part)); }
};
struct JournalAck {  // standby -> scheduler: I have all below
  std::uint64_t attempt = 0;
  std::uint64_t below = 0;
  static constexpr Roles senders{Role::standby};
  void serialize(auto& fields) { fields(attempt, below); }
};

// Scheduler -> shard: this shard decides between the scheduler and its standby of this attempt, should they
// lose each other. A standby counts once the shard has confirmed that, and a shard grants no other attempt.
struct Arbitrate {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t generation = 0;  // of the scheduler
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, generation); }
};
struct Arbitrates {  // shard -> scheduler
  std::uint64_t attempt = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(attempt); }
};

// Scheduler or standby -> shard: the other one is lost to me. The first to claim an attempt goes on, and the
// other ends.
struct LeaderClaim {
  Term term = 0;
  std::uint64_t attempt = 0;
  NodeId shard{};                // that is asked; another process at its endpoint does not answer
  std::uint64_t generation = 0;  // of the scheduler that the claimant is, or follows
  bool standby = false;  // the standby claims; false: the scheduler, or one that was restarted in its place
  static constexpr Roles senders{Role::scheduler, Role::standby};
  void serialize(auto& fields) { fields(term, attempt, shard, generation, standby); }
};
struct LeaderGrant {  // shard -> who claimed
  std::uint64_t attempt = 0;
  bool granted = false;  // false: the other one was first
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(attempt, granted); }
};

// What is said of mirrors: shards that hold what another one holds, and take its place when it is lost
// (server/mirror/replica.h, scheduler/members/mirrors.h).

// Scheduler -> shard: from now on this node is your mirror, or nobody is. What was forwarded under lower
// attempts does not count.
struct Mirror {
  Term term = 0;
  std::uint64_t attempt = 0;
  bool alone = true;  // nobody is
  NodeId node{};
  std::string endpoint{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, alone, node, bounded(endpoint, limits::endpoint)); }
};
// Scheduler -> mirror: from now on this node is your primary, under this attempt. A mirror believes no other.
// Its next heartbeat has the attempt, and only then is the primary told of its mirror.
struct MirrorOf {
  Term term = 0;
  std::uint64_t attempt = 0;
  NodeId primary{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, primary); }
};
// Scheduler -> mirror: the shard that you mirror is lost, and you are in its place.
struct Promote {
  Term term = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term); }
};
// Shard -> its mirror: what I have heard, in this order. The first of an attempt begins with nothing loaded.
struct Replicate {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t sequence = 0;  // counted from 0 in each attempt
  NodeId from;                 // who said it to me
  std::string words{};         // the message, encoded (protocol/codec.h); empty: that node is gone
  Blob values{};               // its payload
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) {
    fields(term, attempt, sequence, from, bounded(words, limits::forwarded), values);
  }
};
struct ReplicateAck {  // mirror -> shard: I have all below, and shall act on them whatever happens to you
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t below = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, attempt, below); }
};
// Shard -> itself, with each heartbeat while pushes are gathered.
struct IdleTick {
  bool nothing_added = false;        // since the one before
  static constexpr Roles senders{};  // it travels inside of Replicate alone
  void serialize(auto& fields) { fields(nothing_added); }
};

// What a shard says of its mirror, in its heartbeats.
struct MirrorState {
  std::uint64_t attempt = 0;  // the last Mirror::attempt that it knows of
  bool filled = false;        // its mirror has all that it has, and it does nothing before that has it, too
  bool late = false;          // its mirror does not answer: it waits for a Mirror with a higher attempt
  bool fed = false;           // it is a mirror itself
  void serialize(auto& fields) { fields(attempt, filled, late, fed); }
};

// What is said of a piece while it is computed, and where pieces change hands within a round
// (SyncMode::steals_work).

// Worker -> scheduler, when it begins a piece and after every part of it: so many of its positions are done,
// and it may be cut between its micro-batches, which have so many.
inline constexpr std::uint64_t parts_told = 8;  // of a piece of a training
struct PieceProgress {
  Term term = 0;
  PieceId piece_id = 0;
  std::uint64_t done = 0;
  std::uint64_t micro_batch = 0;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, piece_id, done, micro_batch); }
};
// Scheduler -> worker -> compute: the piece is to end here, between two of its micro-batches; what is behind
// will be another's.
struct Cut {
  Term term = 0;
  PieceId piece_id = 0;
  Position end = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, piece_id, end); }
};
// Worker -> scheduler, to the cut that asked for this end: the piece ends here. That is where it was asked
// to, or where it ended before: the cut came too late. Of a piece that is computed when the cut comes, the
// report is the answer.
struct CutAnswer {
  Term term = 0;
  PieceId piece_id = 0;
  Position asked = 0, end = 0;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, piece_id, asked, end); }
};
// Compute -> worker, now and then: a piece is being computed, and so many of its positions are done. With
// hand-over also when it is begun and after every part of it (PieceProgress).
struct ComputeProgress {
  PieceId piece_id = 0;
  std::uint64_t done = 0;
  std::uint64_t micro_batch = 0;
};
struct CutTried {  // compute -> worker, as CutAnswer
  PieceId piece_id = 0;
  Position asked = 0, end = 0;
};

// Host -> polite worker: what other programs leave of the processors that it computes with, 0..1.
struct MachineLeft {
  double share = -1;  // -1: not known
};

// What is said of a model that a worker brings along.

// A job may leave its model and data to the workers. Then the scheduler asks the first one that says Hello,
// before any node is welcomed: what do you train? And, part by part: from which weights?
struct AskModel {
  static constexpr Roles senders{Role::scheduler};
};
struct ModelDescription {  // worker -> scheduler
  Layout layout;           // slice_size is the scheduler's and stays 0
  std::uint64_t train_samples = 0, test_samples = 0;
  std::uint32_t labels = 1;                   // of each sample
  std::uint32_t grain = 1;                    // Job::grain
  std::string data{};                         // what people call it
  std::string data_hash{};                    // of some training samples; checkpoints keep it
  std::vector<double> mean{0}, deviation{1};  // how inputs were made of raw values: of all, or by channel
  // Of a sample: 0 where the worker's program does not say.
  std::uint32_t height = 0, width = 0, channels = 0, classes = 0;
  // A job file's text: how it is to be trained, as the worker's program says. Empty: as the scheduler's does.
  std::string job{};
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(layout, train_samples, test_samples, positive(labels), positive(grain),
           bounded(data, limits::label), bounded(data_hash, limits::label), bounded(mean, limits::channels),
           bounded(deviation, limits::channels), height, width, channels, classes,
           bounded(job, limits::job_file));
  }
};
struct AskWeights {  // scheduler -> worker: the first weights of these floats, drawn with this seed
  std::uint64_t seed = 0;
  Interval floats;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(seed, floats); }
};
struct Weights {  // worker -> scheduler
  Interval floats;
  Blob values;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(floats, values); }
};

}  // namespace steelyard
