// The files that come with the program: examples of jobs, and a small data set.
#pragma once

#include <filesystem>
#include <string>

namespace steelyard {

// The path of `name` in ../share/steelyard beside the directory of this program, whether it is installed, in
// a wheel, or in a build directory. Throws Failure (configuration) with path and remedy if it does not exist.
std::filesystem::path shared_file(const std::string& name);

}  // namespace steelyard
