// A comparison as one page that needs nothing beside itself: a picture of accuracy against time, one of the
// share of the ideal, and the table. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/compare/comparison.h"

namespace steelyard {

std::string comparison_html(const std::vector<Comparison>& comparisons);

}  // namespace steelyard
