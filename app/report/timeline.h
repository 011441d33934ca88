// Timeline: the traces of a job's nodes (app/report/trace_file.h) as one file in Chrome's trace event format,
// which ui.perfetto.dev and chrome://tracing open.
//
// Each node is a process there. Its lane "messages" shows its activity, with arrows from the send of a
// message to its receipt; a worker also has a lane "computing".
//
// Clocks: nodes of one machine share a clock. Let m be the least apparent time of a message from the first
// machine to another, and n that of a message back. The clock of the other is ahead by (m - n) / 2, with an
// error of at most (m + n) / 2 (Cristian 1989), which the notes state.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct Timeline {
  std::string json;
  std::string times;               // a table of how long messages take (app/report/message_times.h)
  std::vector<std::string> notes;  // files that could not be read or aligned, and the error of the others
};

// Takes files and directories of files; a run directory has them in trace/. A truncated file counts up to its
// last complete line. Throws Failure: configuration without a trace, io if a file cannot be read.
Timeline timeline_of(const std::vector<std::string>& paths);

}  // namespace steelyard
