// RoundState: one round (or evaluation): its positions, and which worker owes which of them.
//
// The positions are cut into pieces. Only the scheduler cuts, only inside a piece, and it assigns all parts
// again. So the current pieces always tile the positions, and of any two pieces that ever existed, one
// contains the other or they are disjoint. Therefore a shard can add a push as a whole or not at all.
#pragma once

#include <steelyard/policy.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

// The report of a piece.
struct PieceTold {
  double seconds = 0, loss = 0;
  std::uint64_t correct = 0;
  double weight = 0;  // Report::weight
  void serialize(auto& fields) { fields(seconds, loss, correct, weight); }
};

// With hand-over: the progress that the owner of a piece has reported.
struct PieceUnderway {
  std::uint64_t done = 0, micro_batch = 0;  // positions; micro_batch 0: not begun
  Time since{};
  void serialize(auto& fields) { fields(done, micro_batch, since); }
};

// An unanswered request to end a piece sooner; the helper gets the rest.
struct PieceCut {
  Position end = 0;
  std::uint32_t helper = 0;
  Time since{};
  void serialize(auto& fields) { fields(end, helper, since); }
};

// Only RoundState changes `reported`, because it keeps counts. `owner` never changes.
struct OwedPiece {
  Interval positions;
  std::optional<std::uint32_t> owner;  // a worker's slot; none while no worker is available
  bool reported = false;
  Time since{};                     // when it was last issued, reported, or requested again
  bool asked_again = false;         // a resend was requested from the owner
  unsigned refusals = 0;            // how often shards rejected its gradient
  HubNumber hub = whole_model;      // Piece::hub, independent of the owner
  std::optional<PieceTold> told{};  // std::nullopt if it was closed without a report
  PieceUnderway underway{};
  std::optional<PieceCut> cut{};
  bool handed = false;       // handed over: the rest of another worker's piece
  PieceId before = 0;        // for RoundState: the owner's previous piece; 0: none
  bool owner_gone = false;   // the process that owned it is lost, so it cannot resend the push
  MachineReading planned{};  // the owner's reading when the piece was planned
  void serialize(auto& fields) {
    fields(positions, owner, reported, since, asked_again, owner_gone, refusals, hub, told, underway, cut,
           handed, before, planned);
  }
};

class RoundState {
 public:
  // `least`: the version to compute from, as in Start. With `untaken`, workers take() pieces on demand.
  RoundState(BeginRound open, Purpose purpose, Time started, Version least = 0, bool untaken = false)
      : open_(std::move(open)), purpose_(purpose), least_(least), started_(started) {
    if (untaken) untaken_ = open_.positions;
  }

  [[nodiscard]] const BeginRound& open() const { return open_; }
  [[nodiscard]] Round round() const { return open_.round; }
  [[nodiscard]] Purpose purpose() const { return purpose_; }
  [[nodiscard]] Version least() const { return least_; }
  [[nodiscard]] Time started() const { return started_; }
  using Pieces = std::vector<std::pair<PieceId, OwedPiece>>;  // by id
  [[nodiscard]] const Pieces& pieces() const { return pieces_; }
  [[nodiscard]] const OwedPiece* find(PieceId id) const;  // valid until a piece is added or removed
  [[nodiscard]] OwedPiece* find(PieceId id) { return const_cast<OwedPiece*>(std::as_const(*this).find(id)); }
  // Every piece is reported, and no position is untaken.
  [[nodiscard]] bool reported() const { return unreported_ == 0 && untaken_.empty(); }
  [[nodiscard]] Interval untaken() const { return untaken_; }
  // Takes the next `share` untaken positions. If less than half a share would remain, takes that too, unless
  // the total exceeds `most`, because a small remainder would become a separate update.
  Interval take(std::uint64_t share, std::uint64_t most);
  // The unreported pieces of a worker (nullopt: without an owner), by id.
  [[nodiscard]] std::vector<PieceId> owed_by(std::optional<std::uint32_t> owner) const;
  [[nodiscard]] bool owes(std::uint32_t owner) const { return !owed_by(owner).empty(); }

  void expect(std::size_t pieces) { pieces_.reserve(pieces_.size() + pieces); }  // reserves memory
  void add(PieceId id, OwedPiece piece);  // `id` is above 0 and all earlier ids
  void remove(PieceId id);
  // Shortens the piece to `end`, inside its positions; the caller adds the rest.
  void shorten(PieceId id, Position end);
  // The ids of all pieces for which `wanted` holds; the caller may change pieces while it iterates over them.
  template <class Predicate>
  [[nodiscard]] std::vector<PieceId> select(Predicate wanted) const {
    std::vector<PieceId> ids;
    for (const auto& [id, piece] : pieces_) {
      if (wanted(piece)) ids.push_back(id);
    }
    return ids;
  }

  // Whether BeginRound was sent to the shards; without backup workers, from the start.
  bool opened = true;
  // The number of workers with unreported pieces; each piece without an owner counts as one more.
  [[nodiscard]] std::size_t owing() const;
  [[nodiscard]] bool any_reported() const { return unreported_ < pieces_.size(); }
  // Moves this piece to a later round.
  void leave_over(PieceId id);
  [[nodiscard]] const std::vector<Interval>& left_over() const { return left_over_; }

  void report(PieceId id, const Report& report, Time now);

  // Time since the oldest report, not counting pieces that were requested again.
  [[nodiscard]] Duration longest_since_report(Time now) const;

  // Every shard has covered the round, so no piece is owed any more, reported or not.
  void close_unreported();

  // The worker is lost, so it cannot resend the pushes of its reported pieces.
  void owner_gone(std::uint32_t slot);

  // The sums of each worker's reports, by slot. Positions closed without a report belong to no Part, so the
  // samples of a round are its positions, not the sum of the parts.
  struct Part {
    std::uint32_t slot = 0;
    std::uint64_t samples = 0;
    double seconds = 0;
  };
  [[nodiscard]] std::vector<Part> parts() const;
  // Over all reports: the weighted mean loss, and share of labels predicted correctly (-1: not counted).
  [[nodiscard]] double loss() const;
  [[nodiscard]] double accuracy(std::uint32_t labels) const;

  // With a clip barrier: the sums of squares that shards have reported, by shard, and the scale once decided.
  std::map<std::uint32_t, std::vector<double>> squares;
  std::optional<double> scale;

  std::optional<Time> possible;  // when every shard had the version to compute from
  std::optional<Time> closed;    // when every shard was known to cover the round
  // Positions of a balanced local step (LocalSteps::batch), once a piece is assigned. 0: not known, or steps
  // are not balanced.
  std::uint64_t batch = 0;
  bool done = false;                      // it and all rounds before it are reported
  bool computed_again = false;            // some pieces were, because a push did not arrive
  std::vector<balancing::Sample> unseen;  // samples that the policy has not seen yet
  // On demand: how many positions each worker takes at a time, by slot.
  std::map<std::uint32_t, std::uint64_t> quotas;

 private:
  [[nodiscard]] Pieces::const_iterator place(PieceId id) const;
  [[nodiscard]] double mean(double (*value)(const PieceTold&), double (*weight)(const OwedPiece&)) const;

  BeginRound open_;
  Purpose purpose_;
  Version least_;
  Time started_;
  Interval untaken_;
  std::vector<Interval> left_over_;
  Pieces pieces_;
  // The latest piece of each owner (first without an owner, then by slot), to find a worker's pieces quickly
  // in rounds with thousands of workers.
  std::vector<PieceId> newest_;
  std::size_t unreported_ = 0;

 public:
  void serialize(auto& fields) {
    fields(open_, purpose_, least_, started_, untaken_, left_over_, pieces_, newest_, unreported_, opened,
           squares, scale, possible, closed, batch, done, computed_again, unseen, quotas);
  }
};

}  // namespace steelyard
