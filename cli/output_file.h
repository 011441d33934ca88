// What --json and its like write to.
#pragma once

#include <string>

namespace steelyard {

// To a file, or to standard output if it is "-". Throws Failure (io) that names the option to change.
void write_output(const std::string& option, const std::string& path, const std::string& text);

}  // namespace steelyard
