// Output files of --json and similar options; version and origin of this program.
#pragma once

#include <string>

namespace steelyard {

// Date, version and machine of this process: the first line of events.jsonl (app/report/recorder.h).
std::string origin_line();

// Release, protocol, kernels and devices of this program.
std::string version_text();

// Checks before a long computation that write_output can succeed; throws Failure (io) otherwise. Changes
// nothing.
void check_output(const std::string& option, const std::string& path);

// Writes to a file, or to standard output if `path` is "-". Throws Failure (io) that names the option to
// change.
void write_output(const std::string& option, const std::string& path, const std::string& text);

}  // namespace steelyard
