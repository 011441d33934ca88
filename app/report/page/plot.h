// Lines against time from 0 up, to stand in a page: the lines are SVG, and all text is HTML beside them, so
// that it keeps its size whatever the page's width. The values themselves stand at each line, for the page's
// script (app/report/page/page.js), which shows them under the pointer and zooms, and in a table below. Pure.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

struct Series {
  std::string name, kind;         // a class of the style sheet that gives it its colour
  std::vector<double> x, y;       // seconds; what is not finite is a gap
  std::vector<double> low, high;  // of the rounds behind each point; empty: it is a single one
  bool dots = false;              // for few points far apart
};

struct Plot {
  std::string title, about;  // what the values are, in a sentence
  std::string unit;          // behind each number: " ms"
  double to = 0;             // seconds, of the right edge
  double most = 0;           // the axis goes at least from 0 to here
  double cap = 0;            // and not beyond, where not 0: what is above is drawn at the edge
  std::vector<Series> series{};
  std::vector<double> marks{};  // seconds at which something happened
};

std::string drawn(const Plot& plot);  // empty if there is no point

// Rounds in a row as one point: equal numbers of them, at most `points`, with mean, least and most of what is
// finite. Each keeps its own mean time. Few enough stay as they are, without low and high.
Series thinned(Series series, std::size_t points);

}  // namespace steelyard
