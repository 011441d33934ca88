// PullRule: which parameters a worker computes a piece from, and which it pulls next. This is all that a sync
// mode changes in a worker.
//
//  exact versions      A piece of round k is computed from version k. Version k + 1 is complete once every
//                      slice has closed round k, so its arrival acknowledges the pushes for k. With hubs,
//                      each hub has its own copy of a version, and a piece names the hub to compute from.
//  applied on arrival  Servers apply each push as it arrives; there are no exact versions. A piece is
//                      computed from parameters pulled after the previous piece was pushed. They contain that
//                      piece and all earlier ones of this worker, so their arrival acknowledges those pushes.
//
// Pure: a rule has no state.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "protocol/messages.h"
#include "protocol/sync_mode.h"
#include "worker/version_buffer.h"

namespace steelyard {

// HeldPiece: a piece that a worker owes, or has pushed and may have to push again.
struct HeldPiece {
  enum class Stage { waiting, computing, done };

  Start start;
  Stage stage = Stage::waiting;
  std::vector<Push> pushes{};      // sent; kept for resending
  std::optional<Report> report{};  // once done

  [[nodiscard]] PieceId id() const { return start.piece.id; }
  [[nodiscard]] Round round() const { return start.piece.round; }
  [[nodiscard]] Purpose purpose() const { return start.piece.purpose; }
  [[nodiscard]] Interval positions() const { return start.piece.positions; }
};

// Retry timeout of a pull.
//
// Links report lost connections, so a request is lost silently only if a socket is full. On a slow connection
// an answer may take minutes, and every retry makes the shard send it again. The timeout is therefore twice
// the longest recent pull, at least 1 s. It starts when the version can exist: when the pull is sent, or when
// a piece that needs the version is assigned. Each slice that arrives restarts it, each retry doubles it, and
// the time of the longest pull decays with every version.
class PullTimeout {
 public:
  static constexpr Duration least = std::chrono::seconds(1);
  static constexpr Duration most_doubled = std::chrono::seconds(64), most_learnt = std::chrono::minutes(10);

  // A new pull was sent.
  void asked(Time now) {
    pause_ = {};
    can_come(now);
  }
  // The version can exist only from now on; or an answer is known to be lost, and the pull was sent again.
  void can_come(Time now) {
    begun_ = now;
    go_on(now);
  }
  // A slice arrived.
  void came(Time now) {
    pause_ = std::max(pause_, now - came_);
    go_on(now);
  }
  // All slices have arrived.
  void whole(Time now) { longest_ = std::max(now - begun_, longest_ * 3 / 4); }

  [[nodiscard]] bool over(Time now) const { return now - asked_ > timeout_; }
  void asked_again(Time now) {
    asked_ = now;
    timeout_ = std::min(2 * timeout_, std::max(timeout_, most_doubled));
  }

 private:
  void go_on(Time now) {
    came_ = asked_ = now;
    timeout_ = std::clamp(2 * std::max(longest_, pause_), least, most_learnt);
  }

  Time begun_{}, came_{}, asked_{};
  Duration timeout_ = least;
  Duration pause_{};    // the longest between two slices of this pull
  Duration longest_{};  // the longest recent pull
};

class PullRule {
 public:
  // The input of a rule. `next.begun` is false while nothing is being pulled.
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

  // The version to compute this piece from (at least this one, if pushes are applied on arrival).
  [[nodiscard]] virtual Version version_for(const Start& start) const = 0;
  // Whether the piece can be computed from `current`.
  [[nodiscard]] virtual bool suits(const Start& start, const VersionBuffer& current) const = 0;
  // The version to pull next, if any.
  [[nodiscard]] virtual std::optional<Wanted> next(const View& view) const = 0;
  // Whether the pull in progress will deliver `wanted`.
  [[nodiscard]] virtual bool serves(const Wanted& wanted, const View& view) const = 0;
  // Whether the pull in progress must be sent again, because this new piece overlaps pushed positions.
  [[nodiscard]] virtual bool repeats_for(const Start& start, const View& view) const = 0;
  // Pushes of this worker that the pulled parameters must contain.
  [[nodiscard]] virtual std::vector<Contribution> own(const View& view) const = 0;
  // Whether these parameters answer the pull in progress.
  [[nodiscard]] virtual bool answers(const Parameters& parameters, const VersionBuffer& next) const = 0;
  // Whether the arrival of `current` acknowledges this piece, so that its pushes never need resending.
  [[nodiscard]] virtual bool acknowledges(const HeldPiece& piece, const VersionBuffer& current) const = 0;
  // Whether training a piece from `current` makes the pull in progress useless.
  [[nodiscard]] virtual bool outdated_by_training() const = 0;
  // Push::steps of this slice: the steps that the slice had made in the parameters computed from.
  [[nodiscard]] virtual std::uint64_t steps(const VersionBuffer& current, std::uint32_t slice) const = 0;
};

// `barriers`: rounds_with_barrier() of the job.
std::unique_ptr<const PullRule> pull_rule(const SyncMode& mode, Round barriers = 0);

}  // namespace steelyard
