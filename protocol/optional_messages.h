// Messages outside of a round: run records, link notices, standby, mirrors, hand-over of work, and models
// that workers bring.
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

// Scheduler -> recorder: what the output of the run shows of a round.
struct RoundRecord {
  Round round = 0;
  Purpose purpose = Purpose::train;
  std::uint64_t epoch = 0;
  Interval positions;
  std::uint64_t passes = 1;   // epochs that cover these positions
  double rate = 0;            // learning rate
  std::uint64_t skipped = 0;  // positions among them that belong to other rounds (BeginRound::skipped)
  [[nodiscard]] std::uint64_t samples() const { return (positions.size() - skipped) * passes; }
  // Up to the last report; from the round's begin, or from the end of the preceding round if that is later.
  // The lengths of overlapping rounds then add up to the training time.
  double seconds = 0;
  double loss = 0;      // mean over the samples
  double accuracy = 0;  // correct labels / all labels of the samples
  struct Part {
    std::uint32_t slot = 0;
    std::string name;
    std::uint64_t share = 0;
    double seconds = 0;
  };
  std::vector<Part> parts;
  Staleness staleness{};  // of the run, as reported by the shards until now
};
struct Note {  // an event for the output: a node joined or was lost, a version was saved
  std::string text;
  void serialize(auto& fields) { fields(text); }
};
struct Ended {
  Outcome outcome = Outcome::finished;
  std::string text;
  Progress progress;
  Staleness staleness{};  // of the run
};

// Between a machine and its own link.

// Link -> machine: the connection to this node is lost, with all messages in flight.
struct Disconnected {
  NodeId node;
  void serialize(auto& fields) { fields(node); }
};
// Link -> machine: a peer uses another version of the protocol.
struct VersionMismatch {
  std::uint32_t protocol = 0;
  void serialize(auto& fields) { fields(protocol); }
};
struct Unreachable {  // link -> machine: this endpoint is unusable or denies access
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

// Standby: a scheduler on another machine that receives the journal of the leading one and takes over if that
// is lost (scheduler/recovery/standby_feed.h, scheduler/recovery/standby.h).

// Standby -> scheduler, repeated until answered: requests the journal. Each attempt to follow has a random
// number.
struct Follow {
  std::string build;  // only the same build can read the journal
  std::uint64_t attempt = 0;
  static constexpr Roles senders{Role::standby};
  void serialize(auto& fields) { fields(bounded(build, limits::label), attempt); }
};
// Scheduler -> standby: accepted; the journal follows from its first byte.
struct Following {
  std::uint64_t attempt = 0;
  std::int64_t now = 0;   // ns on the scheduler's clock
  std::string refusal{};  // why the request is refused; empty: accepted
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
struct JournalAck {  // standby -> scheduler: all bytes below this offset have arrived
  std::uint64_t attempt = 0;
  std::uint64_t below = 0;
  static constexpr Roles senders{Role::standby};
  void serialize(auto& fields) { fields(attempt, below); }
};

// Scheduler -> shard: makes this shard the arbiter between the scheduler and the standby of this attempt, for
// the case that they lose each other. The standby counts once the shard has confirmed; the shard grants no
// other attempt.
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

// Scheduler or standby -> shard: the claimant has lost the other one. The first to claim an attempt leads;
// the other exits.
struct LeaderClaim {
  Term term = 0;
  std::uint64_t attempt = 0;
  NodeId shard{};                // the addressee; another process at its endpoint does not answer
  std::uint64_t generation = 0;  // of the scheduler that the claimant is or follows
  bool standby = false;          // true: from the standby; false: from the scheduler or its restarted process
  static constexpr Roles senders{Role::scheduler, Role::standby};
  void serialize(auto& fields) { fields(term, attempt, shard, generation, standby); }
};
struct LeaderGrant {  // shard -> claimant
  std::uint64_t attempt = 0;
  bool granted = false;  // false: the other one claimed first
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(attempt, granted); }
};

// Mirrors: shards that hold the same state as another shard and take its place if it is lost
// (server/mirror/replica.h, scheduler/members/mirrors.h).

// Scheduler -> shard: this node is your mirror from now on, or you have none. Messages forwarded under lower
// attempts do not count.
struct Mirror {
  Term term = 0;
  std::uint64_t attempt = 0;
  bool alone = true;  // no mirror
  NodeId node{};
  std::string endpoint{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, alone, node, bounded(endpoint, limits::endpoint)); }
};
// Scheduler -> mirror: this node is your primary under this attempt; a mirror accepts no other. The mirror's
// next heartbeat has the attempt, and only then does the scheduler send Mirror to the primary.
struct MirrorOf {
  Term term = 0;
  std::uint64_t attempt = 0;
  NodeId primary{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, primary); }
};
// Scheduler -> mirror: your primary is lost; take its place.
struct Promote {
  Term term = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term); }
};
// Shard -> its mirror: a message that the shard received, in order. An attempt starts with nothing loaded.
struct Replicate {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t sequence = 0;  // counted from 0 in each attempt
  NodeId from;                 // sender of the message
  std::string words{};         // the message, encoded (protocol/codec.h); empty: connection to `from` lost
  Blob values{};               // its payload
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) {
    fields(term, attempt, sequence, from, bounded(words, limits::forwarded), values);
  }
};
// Mirror -> shard: all below have arrived and will be applied, whatever happens to the shard.
struct ReplicateAck {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t below = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, attempt, below); }
};
// Shard -> itself, with each heartbeat while pushes are gathered.
struct IdleTick {
  bool nothing_added = false;        // since the previous tick
  static constexpr Roles senders{};  // sent inside Replicate only
  void serialize(auto& fields) { fields(nothing_added); }
};

// A shard's state as a primary or mirror, in its heartbeats.
struct MirrorState {
  std::uint64_t attempt = 0;  // the last Mirror::attempt received
  // Its mirror has its whole state. From then on it acts on a message only once the mirror has it.
  bool filled = false;
  bool late = false;  // its mirror does not answer: it waits for a Mirror with a higher attempt
  bool fed = false;   // it is a mirror itself
  void serialize(auto& fields) { fields(attempt, filled, late, fed); }
};

// Progress of a piece, and hand-over: pieces change hands within a round (SyncMode::steals_work).

// Worker -> scheduler, when a piece begins and after every eighth of it: `done` positions are computed. The
// piece can be cut between its micro-batches, which have `micro_batch` positions.
inline constexpr std::uint64_t parts_told = 8;  // of a piece in training
struct PieceProgress {
  Term term = 0;
  PieceId piece_id = 0;
  std::uint64_t done = 0;
  std::uint64_t micro_batch = 0;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, piece_id, done, micro_batch); }
};
// Scheduler -> worker -> compute: end the piece here, between two of its micro-batches. Another worker gets
// the rest.
struct Cut {
  Term term = 0;
  PieceId piece_id = 0;
  Position end = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, piece_id, end); }
};
// Worker -> scheduler: answers the cut that asked for the end `asked`. The piece ends at `end`: as asked, or
// where it ended before if the cut came too late. If the piece is already computed, the report is the answer.
struct CutAnswer {
  Term term = 0;
  PieceId piece_id = 0;
  Position asked = 0, end = 0;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, piece_id, asked, end); }
};
// Compute -> worker, from time to time while a piece is computed: `done` positions are computed. With
// hand-over also at the begin of the piece and after every eighth of it (PieceProgress).
struct ComputeProgress {
  PieceId piece_id = 0;
  std::uint64_t done = 0;
  std::uint64_t micro_batch = 0;
};
struct CutTried {  // compute -> worker; see CutAnswer
  PieceId piece_id = 0;
  Position asked = 0, end = 0;
};

// Host -> background worker: share of the worker's processors that other programs leave free, 0..1.
struct MachineLeft {
  double share = -1;  // -1: unknown
};

// Models that workers bring.

// A job may leave its model and data to the workers. Then, before any Welcome, the scheduler requests a
// description of the model from the first worker that sends Hello, and then the initial weights, part by
// part.
struct AskModel {
  static constexpr Roles senders{Role::scheduler};
};
struct ModelDescription {  // worker -> scheduler
  Layout layout;           // slice_size stays 0: the scheduler sets it
  std::uint64_t train_samples = 0, test_samples = 0;
  std::uint32_t labels = 1;                   // of each sample
  std::uint32_t grain = 1;                    // Job::grain
  std::string data{};                         // for display
  std::string data_hash{};                    // hash of some training samples, kept in checkpoints
  std::vector<double> mean{0}, deviation{1};  // used to normalize the inputs: one for all, or one a channel
  // Shape of a sample; 0: the worker's program does not state it.
  std::uint32_t height = 0, width = 0, channels = 0, classes = 0;
  // Training settings of the worker's program, as the text of a job file. Empty: the scheduler's settings
  // apply.
  std::string job{};
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) {
    fields(layout, train_samples, test_samples, positive(labels), positive(grain),
           bounded(data, limits::label), bounded(data_hash, limits::label), bounded(mean, limits::channels),
           bounded(deviation, limits::channels), height, width, channels, classes,
           bounded(job, limits::job_file));
  }
};
// Scheduler -> worker: requests the initial weights of these floats, drawn with this seed.
struct AskWeights {
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
