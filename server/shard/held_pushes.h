// HeldPushes: pushes that arrive before the BeginRound of their round, within limits.
//
// A worker may get a round's Start before a shard gets its BeginRound. Where versions are exact, a worker is
// at most one round ahead. So the limit is two pushes of every slice per worker, and four for all workers
// together. Small models have fixed limits instead, because their workers push several pieces before a late
// BeginRound. Further pushes are dropped and requested again, which takes a second. With backup workers,
// BeginRound is sent only when enough of the round is reported, and the pushes of all workers wait here until
// then. The limit is then two pushes of every slice for each worker, up to a number of bytes.
//
// The contents depend only on the pushes received and their order, not on the memory of this machine, because
// a mirror must hold the same pushes as its primary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

// NormLimit: rejects pushes that are not finite or far too long.
//
// The length of a push is the Euclidean norm of its mean gradient, values / weight. It is compared with the
// median length of the last 31 accepted pushes of the same slice; nothing is rejected before there are 8, or
// while the median is 0. A mean over few positions is longer than one over many, by about the square root of
// the ratio of their numbers, so a limit below 10 would reject correct pushes of workers with small shares.
class NormLimit {
 public:
  // For `slices` slices; `limit` 0: no length is rejected.
  NormLimit(double limit, std::size_t slices) : limit_(limit), recent_(limit > 0 ? slices : 0) {}

  // Returns why to reject these values of a push: 0 if not finite, or the multiple of the usual length.
  // Otherwise returns std::nullopt and adds them to the history. The weight must be above 0. `squares`
  // computes the sum of squares of finite values; called only if lengths matter.
  std::optional<double> refused(std::size_t slice, bool finite, const std::function<double()>& squares,
                                double weight);
  // Whether any slice has a history.
  [[nodiscard]] bool knows_any() const;

 private:
  struct Recent {
    std::vector<double> norms;
    std::size_t next = 0;  // index of the oldest, once full
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

  // `bytes`: of all slices of the shard. `of_all`: keeps the pushes of all workers, up to `most` bytes or
  // four times `bytes`, whichever is more.
  explicit HeldPushes(std::uint64_t bytes, bool of_all = false, std::uint64_t most = usual_most)
      : bytes_(bytes), of_all_(of_all), most_(std::max(most, 4 * bytes)) {}

  // Returns false if the limit is reached.
  bool add(NodeId from, const Push& push);
  [[nodiscard]] bool empty() const { return held_.empty(); }
  // Removes and returns all of them, in order of arrival.
  std::vector<Held> take();

 private:
  // Limit for all senders, in multiples of the size of all slices; one sender may use half of it.
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
