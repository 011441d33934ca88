// The pictures of a comparison, as SVG to stand in a page. Colours and fonts are the page's: classes m0 to m9
// for methods, axis, grid, mark and bar. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/compare/result.h"
#include "cli/compare/summary.h"

namespace steelyard {

inline constexpr std::size_t method_classes = 10;
std::string method_class(std::size_t entry);  // "m3"; more methods than classes share them

// Accuracy of each evaluation against seconds of training, a line a run; the run that is the median of its
// method, by its time to the target or to the end, is strong and the others are faint. Empty if nothing was
// evaluated.
std::string accuracy_chart(const Comparison& comparison);

// A bar for each method that has a percentage of the ideal, in the order of `ranking`. Empty if none has.
std::string ideal_chart(const Comparison& comparison, const std::vector<Row>& ranking);

// Round steps for an axis: 1, 2 or 5 times a power of ten, so that at most `most` steps cover the range.
double axis_step(double range, int most);

std::string escaped(const std::string& text);  // as HTML and SVG have it

}  // namespace steelyard
