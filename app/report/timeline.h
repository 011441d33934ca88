// Timeline: the traces of a job's nodes (app/report/trace_file.h) as one file in Chrome's trace event format,
// which ui.perfetto.dev and chrome://tracing open.
//
// Each node is a process there. Its lane "messages" shows what it was busy with, with arrows from where a
// message was said to where it was heard; the lane "computing" of a worker shows when it computed, and when
// it waited in between.
//
// Clocks. Nodes of one machine share a clock. For another machine than the first, with m the least time that
// a message seems to take there, and n the least time back, its clock is ahead by (m - n) / 2: so both take
// equally long. The truth is within (m + n) / 2 of that (Cristian 1989), which the notes say.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct Timeline {
  std::string json;
  std::vector<std::string> notes;  // for people: what could not be read or aligned, and how well the rest is
};

// Of files, and of directories with files in them; a run directory has them in trace/. What a file cut off in
// mid-line says until there counts. Throws Failure (configuration) if there is none, (io) for what cannot be
// read.
Timeline timeline_of(const std::vector<std::string>& paths);

}  // namespace steelyard
