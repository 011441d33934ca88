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

// How a method looks on a page: the same colour and dash on every page. Pure.
//
// The policy gives the hue, the sync mode the dash. Equal shares, which are grey under bsp, have a hue for
// each other mode, since modes are mostly compared on equal shares. The number of a mode (ssp:2, local:8) and
// a mode on top of another policy shift hue and lightness a little. A policy that is not known here has the
// hue of its name. A device alone has the colour of the text.

// As the value of a style attribute: the parts that the class "method" of the page makes a colour of
// (app/report/page/style.css).
std::string method_style(const Entrant& entrant);

// The repeat whose runs are drawn: all curves of a picture are of one seed. The first of those in which the
// most methods have a curve; nothing if there is no curve.
std::optional<std::size_t> drawn_repeat(const Comparison& comparison);

// Accuracy of each evaluation against seconds of training, a line a method, all of one repeat, with what the
// colours mean below. Empty if nothing was evaluated.
std::string accuracy_chart(const Comparison& comparison);

// A bar for each method that has a percentage of the ideal, in the order of `ranking`. Empty if none has.
std::string ideal_chart(const std::vector<Row>& ranking);

}  // namespace steelyard
