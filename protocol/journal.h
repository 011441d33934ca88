// Journal: the input of a machine, with times, as bytes.
//
// A machine is pure (protocol/machine.h): its initial state and its input determine its state. So a journal
// records the input, not the decisions. Each record is
//
//   length u32 | XXH3 of the rest u64 | kind u8 | time i64, ns | sender: role u8, number u64 | contents
//
// in the byte order of protocol/archive.h. The first record is the head: the machine's initial state. A
// truncated or damaged record ends the journal: the writer was killed before it sent any answer to that
// record.
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

// The version of the records below. Messages in them have protocol_version (protocol/codec.h).
inline constexpr unsigned journal_version = 2;

struct JournalHead {
  std::string build;  // of the writer; only the same build can read the journal
  Shared<Job> job{};
  Progress from;          // initial progress of the machine
  std::string remarks{};  // for the host
  std::string record{};   // output of the run, for the host
};
struct Heard {
  Envelope envelope;  // received by the scheduler
};
struct Woken {};      // the machine's deadline has passed
struct Restarted {};  // its process was killed; a new one continues
// From here on the scheduler sends a message only after a standby has the records above
// (protocol/optional_messages.h); attempt 0: there is no standby. `arbiter` is the shard that the standby may
// ask; another role than shard: none. A change of the arbiter makes two such records: the first names the new
// arbiter, and at the second the standby has confirmed that it asks no other.
struct Followed {
  std::uint64_t attempt = 0;
  NodeId arbiter{};
};

// The preceding record is not replayed, because each process that handled it crashed. From here on its
// sender, a member, is excluded from the job.
struct Skipped {
  NodeId from;  // the sender
};
// A standby leads from here on. Each take-over increases the generation (SchedulerBeat::generation).
struct TookOver {
  std::uint64_t generation = 0;
};
// A standby leads, and the scheduler that wrote this never leads again.
struct Superseded {};

// The machine's state at this point, which replaces all records between the head and this one.
struct Condensed {
  std::string state;  // Scheduler::save() (scheduler/scheduler.h)
};

struct JournalRecord {
  using What =
      std::variant<JournalHead, Heard, Woken, Restarted, Followed, Condensed, Skipped, TookOver, Superseded>;
  Time now;
  What what;
};

// Appends a record, without the parts that a replay does not need, such as the values of a payload.
void append(std::vector<std::byte>& journal, const JournalRecord& record);

class JournalReader {
 public:
  // `journal` must outlive the reader.
  explicit JournalReader(std::span<const std::byte> journal) : all_(journal) {}

  // Returns the next record, or std::nullopt at the end or at a truncated or damaged record.
  std::optional<JournalRecord> next();
  [[nodiscard]] std::size_t read() const { return read_; }  // bytes of the records returned
  // Whether the next record is complete but damaged. An incomplete record is normal: the writer was killed
  // while writing it.
  [[nodiscard]] bool damaged() const;
  // JournalHead::build of the first record, even if the rest of that record cannot be read, since another
  // release wrote it. Empty if there is no such record.
  [[nodiscard]] std::string build() const;

 private:
  std::span<const std::byte> all_;
  std::size_t read_ = 0;
};

}  // namespace steelyard
