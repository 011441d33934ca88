// The pictures of a comparison, to stand in a page: lines are SVG, and all text is HTML beside them, so that
// it keeps its size whatever the page's width, and no line runs through it. The page has the classes
// (app/report/page/style.css). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/report/compare/comparison.h"
#include "app/report/compare/summary.h"

namespace steelyard {

// The repeat whose runs are drawn: all curves of a picture are of one seed. The first of those in which the
// most methods have a curve; nothing if there is no curve.
std::optional<std::size_t> drawn_repeat(const Comparison& comparison);

// Accuracy of each evaluation against seconds of training, a line a method, all of one repeat, with what the
// colours mean below. Empty if nothing was evaluated.
std::string accuracy_chart(const Comparison& comparison);

// A bar for each method that has a percentage of the ideal, in the order of `ranking` and in the colour of
// its curve. Empty if none has.
std::string ideal_chart(const Comparison& comparison, const std::vector<Row>& ranking);

}  // namespace steelyard
