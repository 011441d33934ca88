// TraceFile: the activity of one node of a job, for a timeline of all nodes (app/report/timeline.h).
//
// JSON lines. Times are microseconds of the steady clock, which the processes of a machine share; `machine`
// identifies that clock.
//
//   {"node":"worker-3f2a","name":"fast","machine":"8c5e..."}           the first line
//   {"busy":"Push","from":12.5,"to":13}                                 with a message, named by its type
//   {"computed":"round 3","samples":128,"from":20,"to":95.5}            forward and backward
//   {"said":"push 4/1","peer":"shard-1b","at":12.6}                     a message that was sent, and
//   {"heard":"push 4/1","peer":"worker-3f2a","at":12.7}                 its receipt, with the same text
//
// The last of `most_lines` lines is {"full":true}, so that a long training does not fill the disk.
#pragma once

#include <cstdint>
#include <string>

#include "app/report/line_file.h"
#include "protocol/node.h"

namespace steelyard {

// Identifies the steady clock: it differs between machines, and between two boots of a machine.
std::string this_boot();

class TraceFile {
 public:
  static constexpr std::uint64_t most_lines = 2'000'000;

  // Writes into `directory`, which is made if missing. `name`: of the node, for the user. Throws Failure (io)
  // if it cannot be written.
  TraceFile(const std::string& directory, NodeId node, const std::string& name);
  ~TraceFile();

  void busy(const std::string& what, Time from, Time to);
  void computed(const std::string& what, std::uint64_t samples, Time from, Time to);
  void said(const std::string& what, NodeId peer, Time at);
  void heard(const std::string& what, NodeId peer, Time at);

 private:
  void add(const std::string& line, Time now);

  LineFile file_;
  std::uint64_t left_ = most_lines;
};

}  // namespace steelyard
