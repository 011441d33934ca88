// `steelyard examine`: what `steelyard doctor` runs on each host. It reads a question from standard input, a
// line of JSON, and writes the answer to standard output, until its input ends. Internal.
//
//   {"ask": "facts", "directory", "job", "loads": [{"data", "device", "precision"}], "python", "script"}
//     changes to the directory, opens the data and builds the model as a worker does, and tells the memory
//     that this takes, with free memory and disk, cores and GPUs. Without "job" no data is opened; "python"
//     and "script" are files that must be there.
//   {"ask": "clock"}
//     the time of day
//   {"ask": "listen", "host", "port", "token"}
//     listens there (app/hosts/line_speed.h) until the end; port "0": any
//   {"ask": "connect", "host", "port", "token", "speed"}
//     connects to another host's listener
//
// An answer has the key "answer", with the kind of the question, and "error" with a message if it failed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/hosts/line_speed.h"
#include "core/json.h"

namespace steelyard {

class Examination {
 public:
  Json answer(const Json& question);

 private:
  std::vector<std::unique_ptr<LineEnd>> ends_;
};

// Memory that this process may still take: of the machine, or of its control group if that has less.
std::uint64_t free_memory();

struct ExamineOptions {};
int run_examine(const ExamineOptions& options);

}  // namespace steelyard
