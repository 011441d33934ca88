// What messages speak of: rounds, versions, pieces; how far a training is, and how it ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/interval.h"
#include "protocol/fields.h"
#include "protocol/job.h"

namespace steelyard {

// How many slices a shard has on their way to one worker that has not acknowledged them.
//
// What is on its way is kept in memory until it has left, in the version that it had. Where pushes are
// applied at once every worker may hold another version so: a window bounds that, however slow a line is. All
// windows of a shard together are 128 slices (at most 128 MB), or four for each worker.
inline std::uint32_t pull_window(const Job& job) {
  return std::clamp<std::uint32_t>(128 / std::max<std::uint32_t>(job.workers, 1), 4, 16);
}

using Round = std::uint64_t;
using Version = std::uint64_t;
using Term = std::uint64_t;  // one history of versions; only going back to a checkpoint raises it
using PieceId =
    std::uint64_t;  // an interval of a round's positions that a worker owes; never reused in a job

enum class Purpose : std::uint8_t { train, evaluate };

// How late pushes came: [i] counts those before which their slice had made i steps since the
// parameters that they were computed from; the last place counts all that came later still. Empty
// where every push is in time.
using Staleness = std::vector<std::uint64_t>;
inline constexpr std::size_t staleness_places = 65;

// What a checkpoint says beside the parameters: enough to go on as if nothing had happened.
struct Progress {
  Term term = 1;
  Version version = 0;      // of the parameters; also rounds done
  std::uint64_t epoch = 0;  // position in the data: epoch, and offset in its permutation
  Position offset = 0;
  double seconds = 0;  // training time so far
  std::string policy_state;
  std::vector<std::string> workers{};  // names by slot, as the policy's state has them; empty: free
  void serialize(auto& fields) {
    fields(term, version, epoch, offset, seconds, bounded(policy_state, limits::policy_state),
           bounded(workers, limits::names, limits::name));
  }
};

enum class Outcome : std::uint8_t {
  running,
  finished,
  interrupted,
  non_finite,
  server_lost,
  storage,
  worker_failed
};

}  // namespace steelyard
