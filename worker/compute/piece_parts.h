// PieceParts: what a piece consists of, in the order in which it is computed: the positions of its local
// steps, pass by pass; without local steps, all of its positions. No micro-batch spans two of them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/interval.h"
#include "protocol/messages.h"

namespace steelyard {

class PieceParts {
 public:
  // `grain`: of the job; local steps are multiples of it.
  PieceParts(const Piece& piece, std::uint64_t grain);

  struct Part {
    std::uint64_t epoch = 0;
    Interval positions;  // may be empty
  };
  [[nodiscard]] std::optional<Part> next();

 private:
  const std::uint64_t epoch_, grain_;
  const Interval positions_;
  const LocalSteps local_;
  const std::uint64_t steps_;
  std::uint64_t next_ = 0;
};

}  // namespace steelyard
