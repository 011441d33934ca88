// The one table of built-in data sets, by the name that a job file uses. A user's own go in a table of the
// same kind, which open_data() asks first. `steelyard help data` shows the rows.
//
// Each file FILE.cpp in worker/data/sets has its rows in a function of its own, which is all that the table
// needs (steelyard_table in cmake/steelyard_targets.cmake; worker/data/set_options.h has what rows have in
// common):
//
//   DataTable FILE_rows() { return {{"name", make, "one plain sentence", {options}}}; }
#pragma once

#include <steelyard/data_set.h>

#include <span>

namespace steelyard {

using DataRows = DataTable();
std::span<DataRows* const> data_files();

const DataTable& built_in_data_sets();  // in the order of their names

}  // namespace steelyard
