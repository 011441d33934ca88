// PullRule: which parameters a worker computes a piece from, and which it pulls next. What a sync mode
// changes in a worker is here and nowhere else.
//
//  exact versions      A piece of round k is computed from version k. Version k + 1 is complete when every
//                      slice has closed round k, so its arrival acknowledges what was pushed for k. With
//                      hubs a version is there once for each, and a piece says whose it is computed from.
//  applied on arrival  Servers apply each push as it comes, and there are no exact versions. A piece is
//                      computed from parameters that were pulled after the piece before it was pushed, with
//                      that piece and all earlier ones of this worker in them; their arrival acknowledges
//                      those pushes.
//
// Pure: a rule has no state of its own.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "protocol/sync_mode.h"
#include "worker/held_piece.h"
#include "worker/version_buffer.h"

namespace steelyard {

class PullRule {
 public:
  // What a rule may look at. `next.begun` is false while nothing is being pulled.
  struct View {
    const std::vector<HeldPiece>& pieces;  // by id
    const VersionBuffer& current;          // computed from
    const VersionBuffer& next;             // arriving
    bool computing = false;
  };

  struct Wanted {
    Version version = 0;
    HubNumber hub = whole_model;
    Wanted(Version its_version, HubNumber its_hub = whole_model) : version(its_version), hub(its_hub) {}
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };

  virtual ~PullRule() = default;

  // The version to compute this piece from (at least, where pushes are applied on arrival).
  [[nodiscard]] virtual Version version_for(const Start& start) const = 0;
  // Whether `current` can be used for it.
  [[nodiscard]] virtual bool suits(const Start& start, const VersionBuffer& current) const = 0;
  // What is to be pulled, if anything.
  [[nodiscard]] virtual std::optional<Wanted> next(const View& view) const = 0;
  // Whether the pull under way will do for it.
  [[nodiscard]] virtual bool serves(const Wanted& wanted, const View& view) const = 0;
  // Whether the pull under way has to be asked for again, because this new piece overlaps what was pushed.
  [[nodiscard]] virtual bool repeats_for(const Start& start, const View& view) const = 0;
  // The pushes of this worker that must be in what it pulls.
  [[nodiscard]] virtual std::vector<Contribution> own(const View& view) const = 0;
  // Whether these parameters answer the pull under way.
  [[nodiscard]] virtual bool answers(const Parameters& parameters, const VersionBuffer& next) const = 0;
  // Whether the arrival of `current` acknowledges this piece, so that it need not be pushed again.
  [[nodiscard]] virtual bool acknowledges(const HeldPiece& piece, const VersionBuffer& current) const = 0;
  // Whether the pull under way is worthless once a piece is trained from `current`.
  [[nodiscard]] virtual bool outdated_by_training() const = 0;
  // What a push says of the parameters that it was computed from: steps that the slice had made.
  [[nodiscard]] virtual std::uint64_t steps(const VersionBuffer& current, std::uint32_t slice) const = 0;
};

std::unique_ptr<const PullRule> pull_rule(const SyncMode& mode);

}  // namespace steelyard
