// The table of built-in data sets, by the name used in job files. A program's data sets are in a table of the
// same type, which open_data() searches first. `steelyard help data` shows the rows.
//
// Each file FILE.cpp in worker/data/sets returns its rows from a function; nothing else is needed
// (steelyard_table in cmake/steelyard_targets.cmake):
//
//   DataTable FILE_rows() { return {{"name", make, "one plain sentence", {options}}}; }
#pragma once

#include <steelyard/data_set.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steelyard {

using DataRows = DataTable();
std::span<DataRows* const> data_files();

const DataTable& built_in_data_sets();  // sorted by name

// ---- shared by several data sets: options, and the files that they name

// Limits far beyond any use.
inline constexpr std::uint64_t most_classes = 1 << 16;
inline constexpr std::uint64_t longest_side = 1 << 14;  // of a picture, in pixels

// The file named by this option. Throws Failure (configuration) if it is not given: the message asks for this
// file `or_else`.
std::filesystem::path given_file(const Options& options, const char* key, const char* or_else = "");

// The file of this name in a folder, or its gzipped version.
std::filesystem::path file_in_folder(const std::filesystem::path& folder, const std::string& name);

// The option "classes"; std::nullopt if it is not given.
std::optional<std::uint32_t> given_classes(const Options& options);

Option normalize_option();

// These options and those of all picture data sets.
std::vector<Option> picture_options(std::vector<Option> options);
// Applies the picture options. The area beyond a picture is black: a raw value of zero.
DataSets with_picture_options(DataSets sets, const Options& options);

}  // namespace steelyard
