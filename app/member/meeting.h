// Meeting: how the tasks of a job find its scheduler.
//
// At an address (--meet host:port) the scheduler listens there, and no file is needed; keys, if any, are in a
// directory that each task has (--keys), such as a mounted secret.
//
// In a directory that all tasks share (--meet DIR) the scheduler's task chooses a port and writes
//
//   DIR/scheduler   the scheduler's endpoint, and a random number of this start of the job
//   DIR/keys/       a key for each role (transport/security/key_files.h), kept for the next start
//
// The file is written whole or not at all, with mode 0600, after the keys, and removed when the job ends.
// One that a killed scheduler left is replaced by its successor. A task that has used it then notices the
// new one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace steelyard {

struct MeetingOptions {
  std::string meet;       // host:port, or a directory
  std::string keys;       // a directory of keys; empty: DIR/keys, or plain text at an address
  std::string address;    // at which other tasks reach this one; empty: determined automatically
  bool insecure = false;  // plain text
};

class Meeting {
 public:
  // Throws Failure (usage) if `meet` is neither.
  explicit Meeting(MeetingOptions options);

  struct Place {
    std::string host, port;  // of the scheduler
    std::string keys{};      // directory; empty: plain text
    std::string start{};     // the start of the job; empty: not known
    friend bool operator==(const Place&, const Place&) = default;
  };

  // For the scheduler's task: the scheduler must listen on this port. `port`, if not empty, and the start
  // are those of a killed scheduler, which other tasks know already. Throws Failure (configuration, io).
  [[nodiscard]] Place open(const std::string& port = "") const;
  void close() const;  // the job has ended
  // For other tasks: returns nothing if the scheduler has no place yet.
  [[nodiscard]] std::optional<Place> find() const;

  // The host to which ports are bound.
  [[nodiscard]] std::string listen() const;
  // For messages.
  [[nodiscard]] const std::string& name() const { return options_.meet; }

 private:
  [[nodiscard]] std::string file() const { return options_.meet + "/scheduler"; }
  [[nodiscard]] std::string keys() const;

  MeetingOptions options_;
  std::optional<Place> fixed_;  // an address
};

}  // namespace steelyard
