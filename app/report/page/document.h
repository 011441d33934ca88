// A page as one JSON document, which the writer (page.h) makes HTML of and page.js draws pictures of. Pure.
//
//   document  {"kind": "run" | "runs" | "live" | "compare", "title", "sections": [section]}
//   section   {"id", "title", "about", "state"?, "blocks": [block]}
//   state     {"name": "waiting" | "running" | "paused" | "finished" | "interrupted" | "failed",
//              "text",
//              "done"?: 0..1, "final": no update will follow, "last"?: age of the last round in seconds,
//              "pause"?: the age from which the state is "paused"}
//   block     {"type", "id"} and
//     text    {"lead", "text"}                                   a paragraph; `lead` stands out
//     cards   {"cards": [{"label", "value", "note"}]}
//     table   {"title", "note", "fold", "columns": [..], "rows": [[..]]}   `fold`: closed at first
//     facts   {"title", "facts": [[name, value]]}
//     code    {"title", "text"}
//     bars    {"title", "note", "legend": [kind], "rows": [{"name", "parts": [[kind, 0..1]], "value"}],
//              "table", "third"?: three such blocks stand side by side}
//     chart   {"title", "note", "unit", "x": [..], "series": [{"name", "colour", "dots"?, "x"?, "mean": [..],
//              "min"?, "max"?}], "marks": [[x, text]], "axis", "zero", "span", "target"?, "epochs"?,
//              table}
//     lanes   {"title", "note", ...} (app/report/run/lanes.h)
//
// x is in seconds, or in epochs if `epochs`. `zero`: the axis begins at 0; `span`: it covers at least this
// much. A series without "x" has that of the chart; null is a gap; "min" and "max" are those of the rounds
// behind each mean. `colour` is an index of the palette (page.js, style.css) or the name of one of its
// special colours. Every picture has a table behind it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json.h"

namespace steelyard {

using TextRows = std::vector<std::vector<std::string>>;  // the first one is the head

struct Series {
  std::string name;
  Json colour;
  std::vector<double> x, y{};         // seconds; a value that is not finite is a gap
  std::vector<double> low{}, high{};  // of the rounds behind each point; empty: a point is one round
  bool dots = false;                  // for few points far apart
};

struct Chart {
  std::string id, title, note, unit, axis = "time since the first round began";
  std::vector<Series> series{};
  std::vector<std::pair<double, std::string>> marks{};
  bool zero = false, epochs = false;
  double span = 0, target = -1;
};

// At most `most` buckets of equal numbers of rounds, each with its mean time, and the mean, minimum and
// maximum of its finite values. A shorter series is returned unchanged.
Series thinned(Series series, std::size_t most);

Json chart_block(const Chart& chart);  // null if no series has a point
Json table_block(const std::string& id, const std::string& title, const TextRows& rows,
                 const std::string& note = "", bool fold = false);
Json text_block(const std::string& id, const std::string& lead, const std::string& text);
Json help_block(const char* text);  // "How to read it"
Json section_of(const std::string& title, const std::string& about);

// Appends a block, unless it is null.
void add_block(Json& section, Json block);

// Four digits that count: more are noise, and cost bytes. Null if the value is not finite.
Json brief(double value, int digits = 4);

// The colour of a method, the same on every page: policy and sync mode choose the hue, and the mode chooses
// the dashes. Workers and runs have colours by their order.
int method_colour(const std::string& policy, const std::string& sync);

}  // namespace steelyard
