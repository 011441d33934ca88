// NormLimit: which pushes are refused, because they are not finite or wildly long.
//
// The length of a push is the Euclidean norm of its mean gradient, that is of its values over its weight. It
// is compared with the median of the last 31 that were taken of the same slice; nothing is said before there
// are 8 of them, or while that median is 0. A mean over few positions is longer than one over many, about by
// the root of their ratio, so a limit below 10 would meet honest workers with small shares.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace steelyard {

class NormLimit {
 public:
  // Of so many slices; `limit` 0: nothing is too long.
  NormLimit(double limit, std::size_t slices) : limit_(limit), recent_(limit > 0 ? slices : 0) {}

  // Whether these values of a push are to be refused: 0 for numbers that are not finite, or how many times as
  // long as usual they are. Otherwise they count for what is usual from now on. The weight is above 0.
  std::optional<double> refused(std::size_t slice, std::span<const float> values, double weight);
  // Whether what is usual is known of some slice.
  [[nodiscard]] bool knows_any() const;

 private:
  struct Recent {
    std::vector<double> norms;
    std::size_t next = 0;  // the oldest, once there are enough
  };
  double limit_;
  std::vector<Recent> recent_;
};

}  // namespace steelyard
