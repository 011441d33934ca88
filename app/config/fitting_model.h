// The model of a job for its data, or one sentence about why the two do not fit.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/model.h>

#include <string>

#include "protocol/job.h"

namespace steelyard {

// As model_of() (prepare_job.h). If it fails for this data set and would not for pictures or texts, the
// Failure (configuration) says what the model needs, what the data set has, and which model to try.
nn::Model fitting_model(const Job& job, const DataSet& data);

}  // namespace steelyard
