// The one table of built-in data sets, by the name that a job file uses. A user's own go in a table of the
// same kind, which open_data() asks first. `steelyard help data` shows the rows.
//
// Each file FILE.cpp in worker/data/sets has its rows in a function of its own, which is all that the table needs
// (steelyard_table in cmake/steelyard_targets.cmake; worker/data/set_options.h has what rows have in common):
//
//   DataTable FILE_rows() { return {{"name", make, "one plain sentence", {options}}}; }
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/options.h"
#include "worker/data/data_set.h"

namespace steelyard {

// A row makes both sets.
using DataTable = Choices<DataSets(const Options& options)>;

using DataRows = DataTable();
std::span<DataRows* const> data_files();

const DataTable& built_in_data_sets();  // in the order of their names

// Throws Failure: configuration for names, options and values that make no sense, io for files that are not
// there or damaged, failed for what a user's own throws; the message names the data set. The result is
// complete, not empty, and of one shape with the same classes.
DataSets open_data(const std::string& name, const OptionTexts& options, const DataTable& extra = {});

}  // namespace steelyard
