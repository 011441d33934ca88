#include "worker/pull_rule.h"

#include <algorithm>

namespace steelyard {
namespace {

class ExactVersions final : public PullRule {
 public:
  explicit ExactVersions(bool hubs) : hubs_(hubs) {}

  [[nodiscard]] Version version_for(const Start& start) const override { return start.piece.round; }

  [[nodiscard]] bool suits(const Start& start, const VersionBuffer& current) const override {
    return current.begun && start.piece.round == current.version && start.piece.hub == current.hub;
  }

  // The oldest version that a waiting piece needs, since other workers wait for that piece. If no piece is
  // waiting, the version that the training just done will make. In the current round, a piece of another hub
  // comes after the pieces that `current` suits: its version is kept until it is pushed.
  [[nodiscard]] std::optional<Wanted> next(const View& view) const override {
    std::optional<Wanted> wanted;
    bool trained = false, here = view.computing;
    for (const HeldPiece& piece : view.pieces) {
      const Round round = piece.round();
      const bool ahead = !view.current.begun || round > view.current.version;
      const bool waits = !ahead && piece.stage == HeldPiece::Stage::waiting;
      const bool elsewhere = waits && hubs_ && piece.start.piece.hub != view.current.hub;
      here |= waits && !elsewhere;
      if ((ahead || elsewhere) && (!wanted || round < wanted->version))
        wanted = Wanted(round, piece.start.piece.hub);
      trained |= !ahead && piece.purpose() == Purpose::train;
    }
    if (wanted && view.current.begun && wanted->version <= view.current.version && here) return std::nullopt;
    if (!wanted && trained && !view.computing) wanted = Wanted(view.current.version + 1, view.current.hub);
    return wanted;
  }

  [[nodiscard]] bool serves(const Wanted& wanted, const View& view) const override {
    return view.next.begun && Wanted(view.next.version, view.next.hub) == wanted;
  }
  [[nodiscard]] bool repeats_for(const Start&, const View&) const override { return false; }
  [[nodiscard]] std::vector<Contribution> own(const View&) const override { return {}; }
  [[nodiscard]] bool answers(const Parameters& parameters, const VersionBuffer& next) const override {
    return parameters.version == next.version && (!hubs_ || parameters.ticket == next.ticket);
  }
  [[nodiscard]] bool acknowledges(const HeldPiece& piece, const VersionBuffer& current) const override {
    return piece.round() < current.version;
  }
  [[nodiscard]] bool outdated_by_training() const override { return false; }
  [[nodiscard]] std::uint64_t steps(const VersionBuffer&, std::uint32_t) const override { return 0; }

 private:
  const bool hubs_;  // each version belongs to one hub
};

class OnArrival final : public PullRule {
 public:
  OnArrival(const SyncMode& mode, Round barriers) : mode_(mode), barriers_(barriers) {}

  [[nodiscard]] Version version_for(const Start& start) const override { return start.least; }

  [[nodiscard]] bool suits(const Start& start, const VersionBuffer& current) const override {
    return current.begun && !current.spent && start.least <= current.version;
  }

  // Nothing is pulled while a piece is being computed, since the parameters must contain that piece. If no
  // piece is waiting, pulls the parameters that a piece of the next round needs, as its Start usually
  // requires no more. If it requires more, they are pulled again. If it requires less, they are pulled again,
  // too: a reissued piece may be the one that the newer version waits for.
  [[nodiscard]] std::optional<Wanted> next(const View& view) const override {
    if (view.computing) return std::nullopt;
    const Start* first = nullptr;
    Version ahead = view.current.version;
    for (const HeldPiece& piece : view.pieces) {
      const Round round = piece.round();
      ahead = std::max(ahead, round + 1 - mode_.slack_at(round + 1, barriers_));
      if (piece.stage != HeldPiece::Stage::waiting) continue;
      if (first == nullptr || round < first->piece.round) first = &piece.start;
    }
    if (first != nullptr)
      return suits(*first, view.current) ? std::nullopt : std::optional<Wanted>(first->least);
    return view.current.spent ? std::optional<Wanted>(ahead) : std::nullopt;
  }

  // A newer version is sufficient, unless its pull may have to wait for other workers: they may wait for the
  // piece that needs `wanted`. A version that all slices have reached waits for no worker.
  [[nodiscard]] bool serves(const Wanted& wanted, const View& view) const override {
    if (!view.next.begun) return false;
    const Version version = wanted.version, next = view.next.version;
    return next == version || (view.current.begun && version < next && next <= view.current.version);
  }

  [[nodiscard]] bool repeats_for(const Start& start, const View& view) const override {
    return std::ranges::any_of(view.pieces, [&](const HeldPiece& piece) {
      return !piece.pushes.empty() && piece.round() == start.piece.round &&
             piece.positions().overlaps(start.piece.positions);
    });
  }

  // Pushed positions that this worker does not owe again. A shard drops a push if other workers pushed a part
  // of its piece. If this worker then owes the rest again, no other worker pushes that, and a pull that names
  // these positions would wait for this worker's own push.
  [[nodiscard]] std::vector<Contribution> own(const View& view) const override {
    std::vector<Contribution> own;
    for (const HeldPiece& pushed : view.pieces) {
      if (pushed.pushes.empty()) continue;
      IntervalSet again;
      for (const HeldPiece& piece : view.pieces) {
        if (piece.stage == HeldPiece::Stage::waiting && piece.round() == pushed.round())
          again.add(piece.positions());
      }
      for (const Interval& part : again.gaps(pushed.positions())) own.push_back({pushed.round(), part});
    }
    return own;
  }

  [[nodiscard]] bool answers(const Parameters& parameters, const VersionBuffer& next) const override {
    return parameters.ticket == next.ticket && parameters.version >= next.version;
  }
  [[nodiscard]] bool acknowledges(const HeldPiece& piece, const VersionBuffer& current) const override {
    return piece.stage == HeldPiece::Stage::done || piece.round() < current.version;
  }
  [[nodiscard]] bool outdated_by_training() const override { return true; }
  [[nodiscard]] std::uint64_t steps(const VersionBuffer& current, std::uint32_t slice) const override {
    return current.steps[slice];
  }

 private:
  const SyncMode mode_;
  const Round barriers_;
};

}  // namespace

std::unique_ptr<const PullRule> pull_rule(const SyncMode& mode, Round barriers) {
  if (mode.on_arrival) return std::make_unique<OnArrival>(mode, barriers);
  return std::make_unique<ExactVersions>(mode.has_hubs());
}

}  // namespace steelyard
