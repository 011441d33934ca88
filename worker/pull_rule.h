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
  std::vector<Push> pushes{};      // said, and to be said again if need be
  std::optional<Report> report{};  // once done

  [[nodiscard]] PieceId id() const { return start.piece.id; }
  [[nodiscard]] Round round() const { return start.piece.round; }
  [[nodiscard]] Purpose purpose() const { return start.piece.purpose; }
  [[nodiscard]] Interval positions() const { return start.piece.positions; }
};

// Retry timeout of a pull.
//
// Links report lost connections, so only a full socket loses a request silently. An answer may take minutes
// on a slow link, and every retry sends it again. Hence: twice the longest recent pull, at least 1 s. A pull
// begins when its version can exist: when it is asked for, or when a piece that needs it is given out. Every
// slice that arrives restarts the timeout, every retry doubles it, and what was learnt fades with every
// version.
class PullTimeout {
 public:
  static constexpr Duration least = std::chrono::seconds(1);
  static constexpr Duration most_doubled = std::chrono::seconds(64), most_learnt = std::chrono::minutes(10);

  // Something new was asked for.
  void asked(Time now) {
    pause_ = {};
    can_come(now);
  }
  // It was not to be had before; or what was on its way is known to be gone, and it was asked for again.
  void can_come(Time now) {
    begun_ = now;
    go_on(now);
  }
  // A part of it is here.
  void came(Time now) {
    pause_ = std::max(pause_, now - came_);
    go_on(now);
  }
  // All of it is.
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
  Duration pause_{};    // the longest between two parts of this pull
  Duration longest_{};  // of recent ones
};

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
