// The one table of built-in data sets, by the name that a job file uses. A user's own go in a table of the
// same kind, which open_data() asks first. `steelyard help data` shows the rows.
#pragma once

#include <steelyard/data_set.h>

namespace steelyard {

const DataTable& built_in_data_sets();

}  // namespace steelyard
