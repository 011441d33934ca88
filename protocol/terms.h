// Types used in messages: rounds, versions, pieces; the progress of a training, and its outcome.
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

// Maximum number of unacknowledged slices that a shard sends to one worker.
//
// A shard keeps slices in flight in memory, in the version that it sent. Where pushes are applied on arrival,
// each worker may receive another version; the window bounds this memory, however slow a connection is. All
// windows of a shard together have 128 slices (at most 128 MB), or four per worker if that is more.
inline std::uint32_t pull_window(const Job& job) {
  return std::clamp<std::uint32_t>(128 / std::max<std::uint32_t>(job.workers, 1), 4, 16);
}

using Round = std::uint64_t;
using Version = std::uint64_t;
using Term = std::uint64_t;  // one history of versions; resuming from a checkpoint raises it
using PieceId =
    std::uint64_t;  // an interval of a round's positions that a worker owes; never reused in a job

enum class Purpose : std::uint8_t { train, evaluate };

// Lateness of pushes: [i] counts pushes to slices that had taken i steps since the parameters from which the
// push was computed. The last place counts all later ones. Empty if pushes cannot be late.
using Staleness = std::vector<std::uint64_t>;
inline constexpr std::size_t staleness_places = 65;

// State in a checkpoint beside model and optimizer: enough to resume with identical results.
struct Progress {
  Term term = 1;
  Version version = 0;      // of the parameters; also rounds done
  std::uint64_t epoch = 0;  // position in the data: epoch, and offset in its permutation
  Position offset = 0;
  double seconds = 0;  // training time
  std::string policy_state;
  std::vector<std::string> workers{};  // names by slot, as in the policy's state; an empty name: a free slot
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
