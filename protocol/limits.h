// Maximum lengths of lists and texts in messages, just above what a correct sender needs.
//
// The codec rejects longer ones before it reads an element (protocol/fields.h), so receivers need no checks.
// Where a sender could exceed a limit, the comment says how it avoids that.
#pragma once

#include <cstddef>

namespace steelyard::limits {

// ---- members
inline constexpr std::size_t members = 131'072;    // of a job; the scheduler admits no more
inline constexpr std::size_t names = 2 * members;  // by slot: of members, and of former ones that may return
inline constexpr std::size_t shards = 65'536;      // a job has at most 20,000
inline constexpr std::size_t staleness = 65;       // staleness_places in protocol/terms.h
inline constexpr std::size_t batch_times = 65;     // in Ready: the doublings of a 64-bit number

// ---- a round

// Pieces that a worker has at a time, and so the length of its lists of pieces (held, own). It ignores
// further Starts, which the scheduler repeats.
inline constexpr std::size_t pieces = 65'536;
// BeginRound::skipped: the gaps between the leftovers of all late workers.
inline constexpr std::size_t skipped = members + 1;
inline constexpr std::size_t gaps = 16;     // in a ShardBeat; later heartbeats report further ones
inline constexpr std::size_t parts = 1024;  // in StateRequest and Fetch; senders need at most 8 and 16
// Slices of a shard: 128 GB in slices of 1 MB. Jobs with more are refused (app/config/prepare_job).
inline constexpr std::size_t slices_of_shard = 131'072;

// ---- a job; app/config/prepare_job and app/processes/initial_state refuse jobs that exceed these
inline constexpr std::size_t tensors = 131'072;
inline constexpr std::size_t ranges = 2 * tensors + 1;  // at most two per tensor
inline constexpr std::size_t dimensions = 64;           // of a tensor
inline constexpr std::size_t channels = 65'536;         // of inputs, if normalized separately
inline constexpr std::size_t options = 1024;            // of a model, data set or policy
inline constexpr std::size_t layers = 4096;             // of a model in the job file
inline constexpr std::size_t layer_inputs = 64;         // of one of them
inline constexpr std::size_t curve_terms = 4;           // WorkerCurve::terms

// ---- in bytes

// A frame to the scheduler. The longest valid one is a ModelDescription; its sender refuses a longer one
// (app/processes/initial_state).
inline constexpr std::size_t to_scheduler = 2 << 20;

// Name of a node. Above the limit for valid names (protocol/node.h), so that the scheduler can refuse a
// longer one with a reason.
inline constexpr std::size_t name = 1024;
inline constexpr std::size_t endpoint = 4096;
inline constexpr std::size_t label = 4096;    // of tensors, models, data, options, builds
inline constexpr std::size_t value = 65'536;  // of an option
inline constexpr std::size_t text = 4096;     // for display: senders truncate longer ones
inline constexpr std::size_t job_file = 1 << 20;
inline constexpr std::size_t policy_state = 8 << 20;
inline constexpr std::size_t journal_part = 64 << 10;  // in one message to a standby
// The header of a message forwarded to a mirror; BeginRound::skipped makes it long.
inline constexpr std::size_t forwarded = 3 << 20;

}  // namespace steelyard::limits
