// The one table of built-in data sets, by the name that a job file uses. A user's own go in a table of the
// same kind, which open_data() asks first. `steelyard help data` shows the rows.
//
// Each file FILE.cpp in worker/data/sets has its rows in a function of its own, which is all that the table
// needs (steelyard_table in cmake/steelyard_targets.cmake):
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

const DataTable& built_in_data_sets();  // in the order of their names

// ---- what the rows of several data sets have in common: options, and the files that they name

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
