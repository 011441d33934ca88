// How a method looks on a page: the same colour and dash on every page. Pure.
//
// The policy gives the hue, the sync mode the dash. Equal shares, which are grey under bsp, have a hue for
// each other mode, since modes are mostly compared on equal shares. The number of a mode (ssp:2, local:8) and
// a mode on top of another policy shift hue and lightness a little. A policy that is not known here has the
// hue of its name. A device alone has the colour of the text.
#pragma once

#include <string>

#include "app/report/compare/comparison.h"

namespace steelyard {

// As the value of a style attribute: the parts that the class "method" of the page makes a colour of
// (app/report/page/style.css).
std::string method_style(const Entrant& entrant);

}  // namespace steelyard
