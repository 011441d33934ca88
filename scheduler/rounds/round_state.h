// RoundState: one round (or evaluation): its positions, and which worker owes which of them.
//
// The positions are cut into pieces. Only the scheduler cuts, only inside a piece, and all parts are owed
// again, so the pieces that are left (the leaves) always tile the positions, and of any two pieces that ever
// existed one contains the other or they are disjoint. That is why a push either fits a shard's ledger as a
// whole or not at all.
#pragma once

#include <steelyard/policy.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

// What was reported of a piece; nothing if it was done without.
struct PieceTold {
  double seconds = 0, loss = 0;
  std::uint64_t correct = 0;
  void serialize(auto& fields) { fields(seconds, loss, correct); }
};

// With hand-over, what its owner has told of it while it computes.
struct PieceUnderway {
  std::uint64_t done = 0, micro_batch = 0;  // positions; micro_batch 0: it has not begun
  Time since{};
  void serialize(auto& fields) { fields(done, micro_batch, since); }
};

// It is asked to end sooner, for this worker to have the rest, and has not answered.
struct PieceCut {
  Position end = 0;
  std::uint32_t helper = 0;
  Time since{};
  void serialize(auto& fields) { fields(end, helper, since); }
};

// Whether it is reported changes through RoundState alone, which keeps account of it; its owner never does.
struct OwedPiece {
  Interval positions;
  std::optional<std::uint32_t> owner;  // a worker's slot; none while no worker is there
  bool reported = false;
  Time since{};                 // of the last thing said about it: issued, reported, asked for again
  bool asked_again = false;     // the owner was asked to push it again
  unsigned refusals = 0;        // how often its numbers were not finite
  HubNumber hub = whole_model;  // Piece::hub, whoever owns it
  std::optional<PieceTold> told{};
  PieceUnderway underway{};
  std::optional<PieceCut> cut{};
  bool handed = false;      // it was the rest of another
  PieceId before = 0;       // RoundState's: the piece that its owner got before it; 0: none
  bool owner_gone = false;  // the process that was given it is lost, and pushes nothing again
  void serialize(auto& fields) {
    fields(positions, owner, reported, since, asked_again, owner_gone, refusals, hub, told, underway, cut,
           handed, before);
  }
};

class RoundState {
 public:
  // `least`: the version to compute from, as in Start. With `untaken`, pieces are added by take() as workers
  // come for them.
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
  [[nodiscard]] const OwedPiece* find(PieceId id) const;  // until a piece is added or removed
  [[nodiscard]] OwedPiece* find(PieceId id) { return const_cast<OwedPiece*>(std::as_const(*this).find(id)); }
  // Every piece is, and nothing is left to be taken.
  [[nodiscard]] bool reported() const { return unreported_ == 0 && untaken_.empty(); }
  [[nodiscard]] Interval untaken() const { return untaken_; }
  // The next positions that are not taken: a share of them. What would be left of less than half a share
  // is taken with it, unless that is more than `most`: it would be an update by itself, however small.
  Interval take(std::uint64_t share, std::uint64_t most);
  // What a worker (none: nullopt) owes and has not reported, by id.
  [[nodiscard]] std::vector<PieceId> owed_by(std::optional<std::uint32_t> owner) const;
  [[nodiscard]] bool owes(std::uint32_t owner) const { return !owed_by(owner).empty(); }

  void expect(std::size_t pieces) { pieces_.reserve(pieces_.size() + pieces); }  // so many more
  void add(PieceId id, OwedPiece piece);  // `id` is greater than any before, and than 0
  void remove(PieceId id);
  // It ends here now, inside what it was; what is behind is for the caller to add.
  void shorten(PieceId id, Position end);
  // All pieces for which `wanted` holds, by id: the caller may change the pieces while it walks the answer.
  template <class Predicate>
  [[nodiscard]] std::vector<PieceId> select(Predicate wanted) const {
    std::vector<PieceId> ids;
    for (const auto& [id, piece] : pieces_) {
      if (wanted(piece)) ids.push_back(id);
    }
    return ids;
  }

  // Whether shards know of it: without backup workers from its begin.
  bool opened = true;
  // How many workers owe some of it and have not reported that; a piece without an owner is owed by one more.
  [[nodiscard]] std::size_t owing() const;
  [[nodiscard]] bool any_reported() const { return unreported_ < pieces_.size(); }
  // This piece is of a later round.
  void leave_over(PieceId id);
  [[nodiscard]] const std::vector<Interval>& left_over() const { return left_over_; }

  // A piece is done.
  void report(PieceId id, const Report& report, Time now);

  // Since the oldest of the reports that nothing was said about afterwards.
  [[nodiscard]] Duration longest_since_report(Time now) const;

  // Every shard has all of it, so nothing is owed any more, reported or not.
  void close_unreported();

  // The worker is lost: nobody pushes again what it has reported.
  void owner_gone(std::uint32_t slot);

  // What each worker reported, by slot. Sums over the pieces of one worker. What was done without is nobody's
  // part: the samples of a round are its positions, not the sum of the parts.
  struct Part {
    std::uint32_t slot = 0;
    std::uint64_t samples = 0;
    double seconds = 0;
  };
  [[nodiscard]] std::vector<Part> parts() const;
  // Over what has been reported: the mean loss of a sample, and the share of its labels that were right.
  [[nodiscard]] double loss() const {
    return mean([](const OwedPiece& piece) { return piece.told->loss; });
  }
  [[nodiscard]] double accuracy(std::uint32_t labels) const;

  // With a clip barrier: sums of squares by shard, as far as shards have told, and the scale once it is
  // decided.
  std::map<std::uint32_t, std::vector<double>> squares;
  std::optional<double> scale;

  std::optional<Time> possible;  // since when every shard has the parameters to compute it from
  std::optional<Time> closed;    // since when every shard is known to have all of it
  // Positions of a balanced local step (LocalSteps::batch), once somebody has a piece of it. 0: not known, or
  // steps are not balanced.
  std::uint64_t batch = 0;
  bool done = false;                      // all of it was reported, and so was all before it
  bool computed_again = false;            // some of it, for what was pushed did not arrive
  std::vector<balancing::Sample> unseen;  // what the policy has not seen yet
  // Where pieces are taken: how many positions each worker takes at a time.
  std::map<std::uint32_t, std::uint64_t> quotas;

 private:
  [[nodiscard]] Pieces::const_iterator place(PieceId id) const;
  [[nodiscard]] double mean(double (*value)(const OwedPiece&)) const;

  BeginRound open_;
  Purpose purpose_;
  Version least_;
  Time started_;
  Interval untaken_;
  std::vector<Interval> left_over_;
  Pieces pieces_;
  // By owner (none first, then by slot) the piece that it got last: in a round of thousands of workers,
  // each has to find its own at once.
  std::vector<PieceId> newest_;
  std::size_t unreported_ = 0;

 public:
  void serialize(auto& fields) {
    fields(open_, purpose_, least_, started_, untaken_, left_over_, pieces_, newest_, unreported_, opened,
           squares, scale, possible, closed, batch, done, computed_again, unseen, quotas);
  }
};

}  // namespace steelyard
