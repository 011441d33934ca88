// HeldPushes: pushes that came before the Open of their round, within limits.
//
// A worker may be told of a round before a shard is. Where versions are exact it is ahead by one round at
// most, so two pieces of all slices are what one worker can have here, and all workers together have no more
// than four: what is dropped is asked for again. With backup workers a round is opened when enough of it is
// reported, and until then the pushes of all workers wait here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace steelyard {

class HeldPushes {
 public:
  struct Held {
    NodeId from;
    Push push;
  };

  // `bytes`: of all slices of the shard. All workers together have room for so many times as much, and each
  // for half of that.
  explicit HeldPushes(std::uint64_t bytes, std::uint64_t models = 4) : bytes_(bytes), models_(models) {}

  // With backup workers all pushes of a round wait for its Open.
  static std::uint64_t models(const Job& job) {
    return std::max<std::uint64_t>(4, job.sync.backup > 0 ? 2 * std::uint64_t{job.workers} : 0);
  }

  // False if there is no room for it.
  bool add(NodeId from, const Push& push);
  [[nodiscard]] bool empty() const { return held_.empty(); }
  // All of them, in the order in which they came.
  std::vector<Held> take();

 private:
  std::uint64_t bytes_, models_;
  std::vector<Held> held_;
  std::map<NodeId, std::uint64_t> bytes_of_;  // by sender
  std::uint64_t bytes_in_all_ = 0;
};

}  // namespace steelyard
