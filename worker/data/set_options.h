// What the rows of several data sets have in common (worker/data/sets): options, and the files that they
// name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker/data/data_sets.h"

namespace steelyard {

// Far beyond anything useful.
inline constexpr std::uint64_t most_classes = 1 << 16;
inline constexpr std::uint64_t longest_side = 1 << 14;  // of a picture, in pixels

// The file that this option names. Failure (configuration) if it is not given: give this file `or_else`.
std::filesystem::path given_file(const Options& options, const char* key, const char* or_else = "");

// The file of this name in a folder, or its gzipped twin.
std::filesystem::path file_in_folder(const std::filesystem::path& folder, const std::string& name);

// Of the option "classes"; nothing if it is left out.
std::optional<std::uint32_t> given_classes(const Options& options);

Option normalize_option();

// These options and those that all pictures have.
std::vector<Option> picture_options(std::vector<Option> options);
// The sets as those ask for them. What is beyond a picture is black: a raw value of zero.
DataSets with_picture_options(DataSets sets, const Options& options);

}  // namespace steelyard
