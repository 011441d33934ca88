// Each op of the op table at sizes of the built-in models; each kind of op has at least one row.
#pragma once

#include <vector>

#include "bench/nn/op_run.h"

namespace steelyard::bench {

std::vector<OpCase> op_cases();

}  // namespace steelyard::bench
