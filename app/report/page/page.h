// A page that needs nothing beside itself: the frame that `report` and `compare` share, and small parts of
// HTML. Without a script all of it can be read; the script adds values under the pointer and zoom. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/terminal_text.h"  // fixed

namespace steelyard {

// What every page has inside itself, style.css and page.js of this folder, and live.js of one under way:
// compiled in (assets.cpp.in).
extern const char* const page_style;
extern const char* const page_script;
extern const char* const live_script;

std::string page(const std::string& title, const std::string& body);

// The same of something that goes on: its script (app/report/page/live.js) asks for the path "part" every
// other second and puts what it gets in the place of `part`. Style is inside, scripts are the paths "page.js"
// and "live.js".
std::string live_page(const std::string& title, const std::string& part);

std::string escaped(const std::string& text);         // as HTML and SVG have it, without control characters
std::string percent(double share, int decimals = 0);  // 0.5: "50 %"
std::string short_number(double value);               // three digits that count: 0.0123, 4.56, 789, 12345
std::string at_text(double seconds);                  // of a run: "7.3 s", "12:34"

// Round steps for an axis: 1, 2 or 5 times a power of ten, so that at most `most` steps cover the range.
double axis_step(double range, int most);
int axis_decimals(double step);  // that its values need
// A value at an axis; `share`: how far it is from the left, or with side "top" from above, 0..1.
std::string axis_label(const std::string& side, double share, const std::string& value);

// The first row is the head. A table that is wider than the page scrolls in itself.
std::string html_table(const std::vector<std::vector<std::string>>& rows);  // texts, not yet escaped

// The classes of the i-th line or bar of a picture. The style sheet has eight colours, and dashes that tell
// them apart for people who are colour-blind; from the ninth line on they return with other dashes.
std::string nth_colour(std::size_t i);

// What a colour stands for; `kind` is its class.
std::string legend_item(const std::string& kind, const std::string& text);

}  // namespace steelyard
