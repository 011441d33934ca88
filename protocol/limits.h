// Maximum lengths of lists and texts in messages: what a correct sender can need, and no more.
//
// The codec rejects longer ones before it reads an element (protocol/fields.h), so receivers need no checks.
// A sender that could exceed a limit keeps to it itself, by the rule stated here.
#pragma once

#include <cstddef>

namespace steelyard::limits {

// ---- members
inline constexpr std::size_t members = 131'072;    // of a job; the scheduler admits no more
inline constexpr std::size_t names = 2 * members;  // by slot: of members, and of former ones that may return
inline constexpr std::size_t shards = 65'536;      // a job has 20,000 at the most
inline constexpr std::size_t staleness = 65;       // staleness_places in protocol/terms.h

// ---- a round

// Pieces that a worker knows at a time: it ignores a further Start, which the scheduler repeats. Its lists of
// pieces (held, own) are no longer.
inline constexpr std::size_t pieces = 65'536;
// Of BeginRound::skipped: the gaps between the leftovers of all the late workers that a job can have.
inline constexpr std::size_t skipped = members + 1;
inline constexpr std::size_t gaps = 16;  // of a ShardBeat: the first ones; later heartbeats report more
inline constexpr std::size_t parts =
    1024;  // of StateRequest and Fetch: a window of 8 and one of 16 stay far below
// Slices of a shard: 128 GB in slices of 1 MB. Jobs with more are refused (app/config/prepare_job).
inline constexpr std::size_t slices_of_shard = 131'072;

// ---- a job; longer ones are refused where they are made (app/config/prepare_job,
// app/processes/initial_state)
inline constexpr std::size_t tensors = 131'072;
inline constexpr std::size_t ranges = 2 * tensors + 1;  // one for each tensor, and one between two of them
inline constexpr std::size_t dimensions = 64;           // of a tensor
inline constexpr std::size_t channels = 65'536;         // of inputs that are normalized separately
inline constexpr std::size_t options = 1024;            // of a model, of data, of a policy

// ---- in bytes

// A frame to the scheduler. The longest valid one is a ModelDescription; longer ones are refused where
// they are made (app/processes/initial_state).
inline constexpr std::size_t to_scheduler = 2 << 20;

inline constexpr std::size_t name =
    1024;  // of a node: one that is too long to be valid is refused with a reason
inline constexpr std::size_t endpoint = 4096;
inline constexpr std::size_t label = 4096;    // of tensors, models, data, options, builds
inline constexpr std::size_t value = 65'536;  // of an option
inline constexpr std::size_t text = 4096;     // for display: senders truncate longer ones
inline constexpr std::size_t job_file = 1 << 20;
inline constexpr std::size_t policy_state = 8 << 20;
inline constexpr std::size_t journal_part = 64 << 10;  // sent to a standby at a time
inline constexpr std::size_t forwarded =
    3 << 20;  // the header of a message for a mirror, with BeginRound::skipped

}  // namespace steelyard::limits
