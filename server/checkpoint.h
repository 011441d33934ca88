// Checkpoints on disk: a directory per version, whole or not there.
//
//   checkpoints/1180/model.safetensors      parameters, by the names of the layout
//                    optimizer.safetensors  state, as "state.<slot>.<name>"; slots count from 1
//                    MANIFEST.json          progress, seed, layout, and the size and hash of each file
//
// A checkpoint is written to a directory of another name ("1180.tmp-..."), file by file to the disk, and
// renamed when all of it is there; then it is read back, and only then the oldest are removed. Whatever kills
// the writer, the checkpoints that were there stay there, and what it leaves behind is swept up by the next
// write. A directory of checkpoints has one writer at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout.h"
#include "server/sample_source.h"
#include "wire/messages.h"

namespace steelyard {

// One cut through a training: enough to go on as if nothing had happened, on any number
// of shards and workers.
struct Snapshot {
  Progress progress;
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;  // of the job
  Layout layout;
  std::vector<float> parameters;          // layout.size() floats
  std::vector<std::vector<float>> state;  // of the optimizer: per slot, as long as the parameters
  std::uint64_t steps = 0;                // of the optimizer
  SampleSource source = {};               // with the seed: what the order of samples follows from
};

inline constexpr std::size_t kept_checkpoints = 3;

// Writes <dir>/<version>, keeps the newest three, returns the path. Throws Failure (io) when the disk is full
// or does not obey; then nothing of the attempt remains.
std::string write_checkpoint(const std::string& dir, const Snapshot& snapshot);

// `path` is one checkpoint. Every byte is checked against the manifest; damage is Failure (io) that names the
// file and what is wrong with it.
Snapshot read_checkpoint(const std::string& path);

// All checkpoints with a good manifest, newest first: by term, then by version. Their files are not looked
// at. What was passed over is told in `warnings`, one line each.
std::vector<std::string> list_checkpoints(const std::string& dir,
                                          std::vector<std::string>* warnings = nullptr);

// The newest checkpoint of which every hash is right. Damaged ones are passed over and told in `warnings`.
// Failure (io) if there is none.
std::string newest_checkpoint(const std::string& dir, std::vector<std::string>* warnings = nullptr);

}  // namespace steelyard
