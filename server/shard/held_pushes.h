// HeldPushes: pushes that came before the BeginRound of their round, within limits.
//
// A worker may be told of a round before a shard is. Where versions are exact it is ahead by one round at
// most, so two pieces of all slices are what one worker can have here, and all workers together have no more
// than four: what is dropped is asked for again. With backup workers a round is opened when enough of it is
// reported, and until then the pushes of all workers wait here: there is room for two pieces of each worker
// that has something here, up to a number of bytes.
//
// What is held follows from what came, in its order, and from nothing else, such as the memory of this
// machine: a mirror has to hold what its primary holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

// NormLimit: which pushes are refused, because they are not finite or wildly long.
//
// The length of a push is the Euclidean norm of its mean gradient, that is of its values over its weight. It
// is compared with the median of the last 31 that were taken of the same slice; nothing is said before there
// are 8 of them, or while that median is 0. A mean over few positions is longer than one over many, about by
// the root of their ratio, so a limit below 10 would meet honest workers with small shares.
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

class HeldPushes {
 public:
  struct Held {
    NodeId from;
    Push push;
  };

  static constexpr std::uint64_t usual_most = std::uint64_t{4} << 30;

  // `bytes`: of all slices of the shard. `of_all`: the pushes of all workers wait here, in `most` bytes, or
  // in four times `bytes` where that is more.
  explicit HeldPushes(std::uint64_t bytes, bool of_all = false, std::uint64_t most = usual_most)
      : bytes_(bytes), of_all_(of_all), most_(std::max(most, 4 * bytes)) {}

  // False if there is no room for it.
  bool add(NodeId from, const Push& push);
  [[nodiscard]] bool empty() const { return held_.empty(); }
  // All of them, in the order in which they came.
  std::vector<Held> take();

 private:
  // For so many times the slices there is room for all together; each sender has half of it.
  [[nodiscard]] std::uint64_t models() const {
    return std::max<std::uint64_t>(4, of_all_ ? 2 * bytes_of_.size() : 0);
  }

  std::uint64_t bytes_;
  bool of_all_;
  std::uint64_t most_;
  std::vector<Held> held_;
  std::map<NodeId, std::uint64_t> bytes_of_;  // by sender
  std::uint64_t bytes_in_all_ = 0;
};

}  // namespace steelyard
