// HeldPiece: a piece that a worker owes, or has pushed and may have to push again.
#pragma once

#include <optional>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

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

}  // namespace steelyard
