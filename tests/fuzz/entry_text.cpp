#include "app/config/hosts_file.h"
#include "app/config/job_file.h"
#include "app/config/scenario_file.h"
#include "core/check.h"
#include "protocol/keys.h"
#include "protocol/sync_mode.h"
#include "tests/fuzz/accepts.h"
#include "tests/fuzz/entry.h"

namespace steelyard::fuzz {
bool read_job(std::span<const std::byte> text) {
  return accepts(text, [](std::string_view it) { static_cast<void>(parse_job(it, "fuzz.toml")); });
}

bool read_hosts(std::span<const std::byte> text) {
  return accepts(text, [](std::string_view it) { static_cast<void>(parse_hosts(it, "fuzz.toml")); });
}

bool read_scenario(std::span<const std::byte> text) {
  return accepts(text, [](std::string_view it) { static_cast<void>(parse_scenario(it, "fuzz.toml")); });
}

bool read_sync(std::span<const std::byte> text) {
  return accepts(text, [](std::string_view it) {
    const SyncMode mode = parse_sync(it);
    CHECK(parse_sync(sync_text(mode)) == mode, "a mode changes when it is written and read");
  });
}

bool read_keys(std::span<const std::byte> text) {
  return accepts(text, [](std::string_view it) {
    const KeyLines lines = parse_keys(it, "fuzz");
    std::string written = allow_lines(lines.allowed);
    for (const KeyPair& own : lines.own) written += secret_line(own);
    const KeyLines again = parse_keys(written, "again");
    CHECK(allow_lines(again.allowed) == allow_lines(lines.allowed) && again.own.size() == lines.own.size(),
          "keys change when they are written and read");
  });
}

}  // namespace steelyard::fuzz
