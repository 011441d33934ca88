// What --json and its like write to.
#pragma once

#include <string>

namespace steelyard {

// When and where this process trains, and what it is: the first line of events.jsonl (app/report/recorder.h).
std::string origin_line();

// What this program is: release, protocol, kernels, devices.
std::string version_text();

// Before the work whose result it is: throws Failure (io), as write_output will, if that is sure to fail.
// Nothing is made or changed.
void check_output(const std::string& option, const std::string& path);

// To a file, or to standard output if it is "-". Throws Failure (io) that names the option to change.
void write_output(const std::string& option, const std::string& path, const std::string& text);

}  // namespace steelyard
