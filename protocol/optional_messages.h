// Messages of optional features and within a process: run records, link notices, standby, mirrors, hand-over
// of work, and models that workers bring.
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

// Scheduler -> recorder: a finished round or evaluation, for the output of the run.
struct RoundRecord {
  Round round = 0;
  Purpose purpose = Purpose::train;
  std::uint64_t epoch = 0;
  Interval positions;
  std::uint64_t passes = 1;   // epochs that cover these positions
  double rate = 0;            // learning rate
  std::uint64_t skipped = 0;  // positions among them that belong to other rounds (BeginRound::skipped)
  [[nodiscard]] std::uint64_t samples() const { return (positions.size() - skipped) * passes; }
  // From the round's begin, or from the end of the preceding round if that is later, to the last report. So
  // the lengths of overlapping rounds add up to the training time.
  double seconds = 0;
  double loss = 0;      // mean over the samples
  double accuracy = 0;  // correct labels / all labels of the samples
  struct Part {
    std::uint32_t slot = 0;
    std::string name;
    std::uint64_t share = 0;  // samples
    double seconds = 0;       // of computing
    double cpu = -1;          // part of the processor available to the worker, 0..1; -1: unknown
    double memory = -1;       // available, MB; -1: unknown
  };
  std::vector<Part> parts;
  std::vector<Part> trials{};  // reported during the round (TryOut); their samples are in other parts
  Staleness staleness{};       // of the run, as last reported by the shards
};
// Scheduler -> recorder: an event, such as a node that joined or was lost, or a saved version.
struct Note {
  std::string text;
  void serialize(auto& fields) { fields(text); }
};
struct Ended {  // scheduler -> recorder: the job has ended
  Outcome outcome = Outcome::finished;
  std::string text;
  Progress progress;
  Staleness staleness{};  // of the run
};

// Between a machine and its link.

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
struct Unreachable {  // link -> machine: the endpoint is invalid or denies access
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

// Standby: a scheduler on another machine that receives the journal of the leading one and takes over if the
// leading one is lost (scheduler/recovery/standby_feed.h, scheduler/recovery/standby.h).

// Standby -> scheduler, repeated until answered: requests the journal. Each attempt to follow has a random
// number.
struct Follow {
  std::string build;  // only the same build can read the journal
  std::uint64_t attempt = 0;
  static constexpr Roles senders{Role::standby};
  void serialize(auto& fields) { fields(bounded(build, limits::label), attempt); }
};
// Scheduler -> standby: answers Follow. If accepted, the journal follows from its first byte.
struct Following {
  std::uint64_t attempt = 0;
  std::int64_t now = 0;   // the scheduler's clock, in ns
  std::string refusal{};  // why the request is refused; empty: accepted
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(attempt, now, for_people(refusal, limits::text)); }
};
struct JournalPart {  // scheduler -> standby, in order
  std::uint64_t attempt = 0;
  std::uint64_t begin = 0;  // offset of `bytes` in the journal
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

// Scheduler -> shard: makes this shard the arbiter between the scheduler and the standby of this attempt. If
// the two lose their connection, the arbiter grants the job to one of them. The standby counts (may claim the
// job) once the shard has confirmed; the shard grants no other attempt.
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

// Scheduler or standby -> shard: the claimant has lost the other one and wants to lead. The arbiter grants
// the first claim of an attempt; the other claimant exits.
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

// Mirrors: a mirror is a shard with the same state as another one, its primary, whose place it takes if the
// primary is lost (server/mirror/replica.h, scheduler/members/mirrors.h).

// Scheduler -> primary: `node` is its mirror from now on, or it has none. Acknowledgements of lower attempts
// do not count.
struct Mirror {
  Term term = 0;
  std::uint64_t attempt = 0;
  bool alone = true;  // no mirror
  NodeId node{};
  std::string endpoint{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, alone, node, bounded(endpoint, limits::endpoint)); }
};
// Scheduler -> mirror: `primary` is its primary under this attempt; the mirror accepts no other. The mirror
// confirms the attempt in its next heartbeat; then the scheduler sends Mirror to the primary.
struct MirrorOf {
  Term term = 0;
  std::uint64_t attempt = 0;
  NodeId primary{};
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, primary); }
};
// Scheduler -> mirror: its primary is lost; the mirror takes its place.
struct Promote {
  Term term = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term); }
};
// Primary -> mirror: a message that the primary received, in order. At the start of an attempt the mirror is
// empty.
struct Replicate {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t sequence = 0;  // counted from 0 in each attempt
  NodeId from;                 // sender of the message
  std::string words{};  // the header (protocol/codec.h); empty: the primary lost its connection to `from`
  Blob values{};        // its payload
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) {
    fields(term, attempt, sequence, from, bounded(words, limits::forwarded), values);
  }
};
// Mirror -> primary: all messages below this sequence number have arrived. The mirror will handle them even
// if the primary is lost.
struct ReplicateAck {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t below = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, attempt, below); }
};
// Shard -> itself, with each heartbeat in modes that gather pushes (SyncMode::gathers).
struct IdleTick {
  bool nothing_added = false;        // since the previous tick
  static constexpr Roles senders{};  // sent inside Replicate only
  void serialize(auto& fields) { fields(nothing_added); }
};

// A shard's state as a primary or mirror, in its heartbeats.
struct MirrorState {
  std::uint64_t attempt = 0;  // the last Mirror::attempt received
  // Primary: its mirror has the whole state. From then on the primary handles a message only once the mirror
  // has it.
  bool filled = false;
  bool late = false;  // primary: its mirror does not answer; it waits for a Mirror with a higher attempt
  bool fed = false;   // it is a mirror
  void serialize(auto& fields) { fields(attempt, filled, late, fed); }
};

// Progress of a piece, and hand-over of its rest to another worker within a round (SyncMode::steals_work).

// Worker -> scheduler, when a piece begins and after every eighth of it: `done` positions are computed. The
// piece can be cut between its micro-batches, which have `micro_batch` positions.
inline constexpr std::uint64_t parts_told = 8;  // progress reports per training piece
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
// Worker -> scheduler: answers the Cut with the end `asked`. The piece ends at `end`: there, or where it
// ended before if the cut came too late. If the piece is already computed, the report is the answer.
struct CutAnswer {
  Term term = 0;
  PieceId piece_id = 0;
  Position asked = 0, end = 0;
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, piece_id, asked, end); }
};
// Compute -> worker, repeatedly while a piece is computed: `done` positions are computed. With hand-over also
// when the piece begins and after every eighth of it (PieceProgress).
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

// The end of the job, as a success, that the program of a worker requests for all workers: after the current
// round, or now: open rounds are dropped.
enum class EndRequest : std::uint8_t { none, after_round, now };
struct EndRequested {  // program -> its worker, which repeats it in heartbeats until Stop arrives
  EndRequest end = EndRequest::after_round;
};

// Models that workers bring: a job may leave its model and data to the workers. Before any Welcome, the
// scheduler then requests a description of the model from the first worker that sends Hello (AskModel), and
// the initial weights part by part (AskWeights).
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
  std::vector<double> mean{0}, deviation{1};  // used to normalize the inputs: one for all, or one per channel
  // Shape of a sample, and number of classes; 0: the worker's program does not state them.
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
// Scheduler -> worker: requests these floats of the initial weights, drawn with this seed.
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
