#include "app/report/page/page.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/report/progress_bar.h"

namespace steelyard {

namespace {

std::string head(const std::string& title, const std::string& more) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escaped(title) + "</title>\n<style>\n" + page_style + "</style>\n" + more + "</head>\n";
}

}  // namespace

std::string page(const std::string& title, const std::string& body) {
  return head(title, "") + "<body>\n" + body + "<script>\n" + page_script +
         "steelyard.begin();\n</script>\n</body>\n</html>\n";
}

std::string live_page(const std::string& title, const std::string& part) {
  return head(title,
              "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n"
              "<script src=\"page.js\" defer></script>\n<script src=\"live.js\" defer></script>\n") +
         "<body>\n<p class=\"live\" hidden><b>live</b><span class=\"when\"></span><span class=\"soft\" "
         "role=\"status\"></span><button type=\"button\">hold the page</button></p>\n<main>\n" +
         part + "</main>\n</body>\n</html>\n";
}

std::string escaped(const std::string& text) {
  static constexpr std::pair<char, const char*> entities[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string result;
  for (const char c : shown_line(text)) {
    const auto named = std::ranges::find(entities, c, &std::pair<char, const char*>::first);
    result += named == std::end(entities) ? std::string(1, c) : named->second;
  }
  return result;
}

std::string percent(double share, int decimals) { return fixed(100 * share, decimals) + " %"; }

std::string short_number(double value) {
  const double size = std::abs(value);
  if (!(size > 0)) return "0";
  const int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
  return fixed(value, std::min(std::max(decimals, 0), 8));
}

std::string at_text(double seconds) {
  return seconds < 59.95 ? fixed(seconds, 1) + " s" : duration_text(seconds);
}

double axis_step(double range, int most) {
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  for (const double factor : {1, 2, 5}) {
    if (range / (factor * power) <= most * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

int axis_decimals(double step) { return std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))); }

std::string axis_label(const std::string& side, double share, const std::string& value) {
  return "<span style=\"" + side + ":" + fixed(100 * share, 2) + "%\">" + value + "</span>";
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<div class=\"wide\"><table>\n";
  std::string kind = "th";
  for (const std::vector<std::string>& row : rows) {
    text += "<tr>";
    for (const std::string& cell : row) text += "<" + kind + ">" + escaped(cell) + "</" + kind + ">";
    text += "</tr>\n";
    kind = "td";
  }
  return text + "</table></div>\n";
}

std::string nth_colour(std::size_t i) {
  constexpr std::size_t colours = 8, dashes = 3;  // of the style sheet
  const std::size_t turn = i / colours % (dashes + 1);
  return "w" + std::to_string(i % colours) + (turn == 0 ? "" : " turn" + std::to_string(turn));
}

std::string legend_item(const std::string& kind, const std::string& text) {
  return "<li><svg class=\"swatch " + kind +
         "\" viewBox=\"0 0 30 6\"><path class=\"line\" d=\"M0 3H30\"/></svg>" + escaped(text) + "</li>";
}

}  // namespace steelyard
