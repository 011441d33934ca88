// MANIFEST.json: the description of a checkpoint. Written last and sealed by a hash of its contents; a
// directory without a valid manifest is not a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/layout.h"
#include "protocol/messages.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/durable_file.h"

namespace steelyard {

struct Manifest {
  Progress progress;  // policy_state must be UTF-8
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t steps = 0;        // of the optimizer
  std::uint64_t state_slots = 0;  // of the optimizer
  Layout layout;
  SampleSource source;
  std::map<std::string, FileSeal> files;  // by name, in the same directory

  // Whether the model is in the workers' state (Snapshot::on_workers).
  [[nodiscard]] bool on_workers() const { return files.contains("worker_state.bin"); }

  static constexpr std::uint64_t format = 1;
  static constexpr std::uint64_t longest = 64 << 20;  // bytes of the text
};

inline constexpr const char* manifest_file = "MANIFEST.json";

std::string manifest_text(const Manifest& manifest);

// Throws Failure (io) that names `path` and the problem: not JSON, wrong seal, another format, a missing or
// impossible field, or a layout with holes.
Manifest parse_manifest(std::string_view text, const std::string& path);
// Reads the manifest of the checkpoint in this directory, but not its other files.
Manifest read_manifest(const std::string& checkpoint);

}  // namespace steelyard
