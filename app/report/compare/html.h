// The document of comparisons (app/report/page/document.h): for each, the verdict, test accuracy against
// time, the percent of ideal, and all numbers. Pure.
#pragma once

#include <optional>
#include <vector>

#include "app/report/compare/comparison.h"
#include "app/report/page/document.h"

namespace steelyard {

Json comparison_document(const std::vector<Comparison>& comparisons);

// The repeat that the chart shows, since all of its lines must have one seed: the first of those in which the
// most methods have a line. Nothing if no method has one.
std::optional<std::size_t> drawn_repeat(const Comparison& comparison);

}  // namespace steelyard
