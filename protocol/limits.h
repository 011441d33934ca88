// How long the lists and texts of messages may be: as long as an honest sender can need, and no longer.
//
// The codec refuses a longer one before it reads an element (protocol/fields.h), so that no receiver has to.
// Where a sender could come to more, it keeps to these numbers itself, by the rule that stands here.
#pragma once

#include <cstddef>

namespace steelyard::limits {

// ---- who takes part
inline constexpr std::size_t members = 131'072;    // of a job; the scheduler admits no more
inline constexpr std::size_t names = 2 * members;  // by slot: of members, and of those that may come back
inline constexpr std::size_t shards = 65'536;      // a job has 20,000 at the most
inline constexpr std::size_t staleness = 65;       // staleness_places in protocol/terms.h

// ---- a round

// That a worker knows of at a time: it ignores a further Start, which the scheduler repeats. What it says of
// its pieces (held, own) is no longer.
inline constexpr std::size_t pieces = 65'536;
// Of BeginRound::skipped: the parts between what is left of as many late workers as a job may have.
inline constexpr std::size_t skipped = members + 1;
inline constexpr std::size_t gaps = 16;  // of a ShardBeat: the first ones; the next heartbeat has more
inline constexpr std::size_t parts =
    1024;  // of StateRequest and Fetch: a window of 8 and one of 16 stay far below
// That one shard may hold: 128 GB in slices of 1 MB. A job with more is refused (config/prepare_job).
inline constexpr std::size_t slices_of_shard = 131'072;

// ---- a job; one that is longer is refused where it is made (config/prepare_job, roles/external_model)
inline constexpr std::size_t tensors = 131'072;
inline constexpr std::size_t ranges = 2 * tensors + 1;  // one for each tensor, and one between two of them
inline constexpr std::size_t dimensions = 64;           // of a tensor
inline constexpr std::size_t channels = 65'536;         // of inputs that are normalized one by one
inline constexpr std::size_t options = 1024;            // of a model, of data, of a policy

// ---- in bytes

// Of a frame to the scheduler. The longest that an honest member sends is a ModelDescription; one that is
// longer is refused where it is made (roles/external_model).
inline constexpr std::size_t to_scheduler = 2 << 20;

inline constexpr std::size_t name =
    1024;  // of a node: one that is too long to be valid is refused with a reason
inline constexpr std::size_t endpoint = 4096;
inline constexpr std::size_t label = 4096;    // of tensors, models, data, options, builds
inline constexpr std::size_t value = 65'536;  // of an option
inline constexpr std::size_t text = 4096;     // for people: its sender cuts what is longer
inline constexpr std::size_t job_file = 1 << 20;
inline constexpr std::size_t policy_state = 8 << 20;
inline constexpr std::size_t journal_part = 64 << 10;  // that a standby is sent at a time
inline constexpr std::size_t forwarded =
    3 << 20;  // the header of a message for a mirror, with BeginRound::skipped

}  // namespace steelyard::limits
