// The one table of built-in data sets, by the name that a job file uses. A user's own go in a table of the
// same kind, which open_data() asks first. `steelyard help data` shows the rows.
#pragma once

#include <functional>
#include <string>

#include "core/options.h"
#include "worker/data/data_set.h"

namespace steelyard {

// A row makes both sets.
using DataTable = Choices<DataSets(const Options& options)>;

const DataTable& built_in_data_sets();

// Throws Failure: configuration for names, options and values that make no sense, io for files that are not
// there or damaged, failed for what a user's own throws; the message names the data set. The result is
// complete, not empty, and of one shape with the same classes.
DataSets open_data(const std::string& name, const OptionTexts& options, const DataTable& extra = {});

}  // namespace steelyard
