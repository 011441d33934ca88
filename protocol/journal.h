// Journal: what a machine heard, and when, as bytes.
//
// A machine is pure (protocol/machine.h): whoever knows what it began with and what it has heard since can
// make it anew, exactly where it was. So a journal records what comes in and not what is decided. Each record
// is
//
//   length u32 | XXH3 of the rest u64 | kind u8 | time i64, ns | sender: role u8, number u64 | words
//
// in the order of bytes of protocol/archive.h. The first record is the head: what the machine began with. A
// record that is cut short or damaged ends the journal: its writer was killed before it had answered what is
// in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/buffer.h"
#include "protocol/machine.h"

namespace steelyard {

struct JournalHead {
  std::string build;  // what wrote it; only the same reads it
  Shared<Job> job{};
  Progress from;          // where the machine began
  std::string remarks{};  // the host's own
  std::string record{};   // of the run so far, likewise
};
struct Heard {
  Envelope envelope;  // to the scheduler
};
struct Woken {};      // its deadline had passed
struct Restarted {};  // its process was killed; from here on it is another one
// From here on nothing was said before a standby had the records above (protocol/optional_messages.h); 0:
// there is none. `arbiter` is the shard that the standby may ask; where it changes there are two such
// records: the first names it, and with the second the standby has confirmed that it asks no other. A role of
// scheduler: there is none.
struct Followed {
  std::uint64_t attempt = 0;
  NodeId arbiter{};
};

// The record before this one is not acted on: it ended each process that acted on it. A member that sent it
// has no part in the job from here on.
struct Skipped {
  NodeId from;  // its sender
};
// A standby leads from here on. The number grows with each take-over (SchedulerBeat::generation).
struct TookOver {
  std::uint64_t generation = 0;
};
// The standby leads, and the scheduler that wrote this never does again.
struct Superseded {};

// What the machine knew here. Behind the head it is in the place of all that was heard before.
struct Condensed {
  std::string state;  // Scheduler::save() (scheduler/scheduler.h)
};

struct JournalRecord {
  using What =
      std::variant<JournalHead, Heard, Woken, Restarted, Followed, Condensed, Skipped, TookOver, Superseded>;
  Time now;
  What what;
};

// Behind what is there. What it needs no more to answer, such as the values of a payload, is left out.
void append(std::vector<std::byte>& journal, const JournalRecord& record);

class JournalReader {
 public:
  // The bytes outlive this.
  explicit JournalReader(std::span<const std::byte> journal) : all_(journal) {}

  // Nothing: there is no more, or not as it was written.
  std::optional<JournalRecord> next();
  [[nodiscard]] std::size_t read() const { return read_; }  // bytes of the records so far
  // The next record is there to its end, and not as it was written. One whose end is missing is what a
  // process leaves that is killed while it writes.
  [[nodiscard]] bool damaged() const;

 private:
  std::span<const std::byte> all_;
  std::size_t read_ = 0;
};

}  // namespace steelyard
