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

  // The oldest version that a waiting piece needs, for other workers wait for that piece. With no piece
  // waiting, the version that the training just done is sure to make. A piece of the round at hand that is of
  // another hub comes after those that `current` suits: its version stays until it is pushed.
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
  const bool hubs_;  // a version is of one of them
};

class OnArrival final : public PullRule {
 public:
  explicit OnArrival(std::uint64_t slack) : slack_(slack) {}

  [[nodiscard]] Version version_for(const Start& start) const override { return start.least; }

  [[nodiscard]] bool suits(const Start& start, const VersionBuffer& current) const override {
    return current.begun && !current.spent && start.least <= current.version;
  }

  // Nothing is pulled while a piece is being computed, for that piece has to be in it. With no piece
  // waiting, the parameters that a piece of the next round needs: its Start will ask for no more. If it asks
  // for more, they are pulled again; and if it asks for less, too: a piece that was issued again may be the
  // very one that a pull for more waits for.
  [[nodiscard]] std::optional<Wanted> next(const View& view) const override {
    if (view.computing) return std::nullopt;
    const Start* first = nullptr;
    Version ahead = view.current.version;
    for (const HeldPiece& piece : view.pieces) {
      const Round round = piece.round();
      if (round + 1 > slack_) ahead = std::max(ahead, round + 1 - slack_);
      if (piece.stage != HeldPiece::Stage::waiting) continue;
      if (first == nullptr || round < first->piece.round) first = &piece.start;
    }
    if (first != nullptr)
      return suits(*first, view.current) ? std::nullopt : std::optional<Wanted>(first->least);
    return view.current.spent ? std::optional<Wanted>(ahead) : std::nullopt;
  }

  // More than is wanted does as well, unless it could have to wait for other workers: they may wait for the
  // piece that wants it. A version that all slices have had waits for nobody.
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

  // What was pushed and is not owed once more. A push is dropped where other workers have pushed a part of
  // its piece; what is then owed again by this worker is pushed by nobody else, and it would wait for
  // itself.
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
  const std::uint64_t slack_;
};

}  // namespace

std::unique_ptr<const PullRule> pull_rule(const SyncMode& mode) {
  if (mode.on_arrival) return std::make_unique<OnArrival>(mode.slack);
  return std::make_unique<ExactVersions>(mode.has_hubs());
}

}  // namespace steelyard
