// Writes a document (document.h) as HTML, and texts that pages share. Without scripts the page has every
// sentence, card, bar and table; page.js and dygraphs add the charts and the lanes. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/terminal_text.h"  // fixed
#include "core/json.h"

namespace steelyard {

// Compiled in (assets.cpp.in): style.css and page.js of this folder, and the chart library.
extern const char* const page_style;
extern const char* const page_script;
extern const char* const chart_script;  // dygraphs, https://dygraphs.com, MIT licence
extern const char* const chart_style;

extern const char *const run_help, *const compare_help;  // help_run.txt, help_compare.txt

std::string page(const Json& document);  // one file that needs nothing from a network

// The page of a running job: its scripts are the paths "dygraph.js" and "page.js", and page.js fetches the
// path "part" every two seconds, which is live_part().
std::string live_page(const Json& document);
std::string live_part(const Json& document);  // the contents of <main>

std::string escaped(const std::string& text);  // for HTML, without control characters
// "97.2" and the unit, at most 100; "too short to tell" if asked for, or if noise puts the value above 100.5.
std::string ideal_text(double percent_of_ideal, bool too_short = false, const char* unit = " %");
std::string percent(double share, int decimals = 0);  // 0.5: "50 %"
std::string grouped(double value, int decimals = 0);  // 25558: "25,558"
std::string short_number(double value);               // three digits that count: 0.0123, 4.56, 789, 12,345
std::string at_text(double seconds);                  // time in a run: "7.3 s", "12:34"

}  // namespace steelyard
