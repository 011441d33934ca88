#include "app/report/page/page.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/report/progress_bar.h"
#include "core/text.h"

namespace steelyard {
namespace {

std::string text_in(const Json& from, const char* key) { return escaped(text_at(from, key)); }

std::string element(const char* tag, const std::string& text, const std::string& attributes = "") {
  if (text.empty()) return "";
  return std::string("<") + tag + attributes + ">" + text + "</" + tag + ">\n";
}

// The first cell may be cut off at its left, where long names of machines differ least: <bdi> keeps its
// order.
std::string html_rows(const Json& row, const std::string& cell) {
  std::string text;
  for (const Json& it : row) {
    const std::string content = escaped(it.get<std::string>());
    text += "<" + cell + ">" + (text.empty() && cell == "td" ? "<bdi>" + content + "</bdi>" : content) +
            "</" + cell + ">";
  }
  return "<tr>" + text + "</tr>\n";
}

// A table that is wider than the page scrolls on its own.
std::string table_html(const Json& block) {
  std::string text = "<div class=\"wide\"><table>\n" + html_rows(block["columns"], "th");
  for (const Json& row : block["rows"]) text += html_rows(row, "td");
  return text + "</table></div>\n";
}

std::string bars_html(const Json& block) {
  std::string legend, rows;
  for (const Json& it : block["legend"]) {
    const std::string kind = it.get<std::string>();
    legend += "<li><i class=\"key " + kind + "\"></i>" + kind + "</li>";
  }
  for (const Json& row : block["rows"]) {
    std::string parts;
    for (const Json& part : row["parts"]) {
      parts += "<i class=\"" + part[0].get<std::string>() +
               "\" style=\"width:" + fixed(part[1].is_number() ? 100 * part[1].get<double>() : 0, 1) +
               "%\"></i>";
    }
    rows += "<div class=\"name\" title=\"" + text_in(row, "name") + "\">" + text_in(row, "name") +
            "</div><div class=\"track\">" + parts + "</div><div class=\"value\">" + text_in(row, "value") +
            "</div>";
  }
  return element("ul", legend, " class=\"legend\"") + "<div class=\"bars\">" + rows + "</div>\n";
}

std::string cards_html(const Json& block) {
  std::string text;
  for (const Json& it : block["cards"]) {
    text += "<li><span>" + text_in(it, "label") + "</span><b>" + text_in(it, "value") + "</b><small>" +
            text_in(it, "note") + "</small></li>";
  }
  return element("ul", text, " class=\"cards\"");
}

std::string facts_html(const Json& block) {
  std::string text;
  for (const Json& it : block["facts"])
    text += "<dt>" + escaped(it[0].get<std::string>()) + "</dt><dd>" + escaped(it[1].get<std::string>()) +
            "</dd>";
  return "<dl>" + text + "</dl>\n";
}

std::string code_html(const Json& block) {
  std::string text;
  for_each_line(text_at(block, "text"),
                [&](std::string_view line) { text += escaped(std::string(line)) + "\n"; });
  return "<details><summary>" + text_in(block, "title") + "</summary><pre>" + text + "</pre></details>\n";
}

std::string folded(const Json& block, const std::string& summary) {
  if (!block.contains("rows") || block["rows"].empty()) return "";
  return "<details><summary>" + summary + "</summary>" + table_html(block) + "</details>\n";
}

std::string block_html(const Json& block, const std::string& id) {
  const std::string type = text_at(block, "type"), title = element("h2", text_in(block, "title"));
  const std::string note = element("p", text_in(block, "note"), " class=\"note\"");
  std::string text;
  if (type == "text") {
    text = "<p><b>" + text_in(block, "lead") + "</b>" + text_in(block, "text") + "</p>\n";
  } else if (type == "cards") {
    text = cards_html(block);
  } else if (type == "facts") {
    text = title + facts_html(block);
  } else if (type == "code") {
    text = code_html(block);
  } else if (type == "table") {
    const bool fold = block.value("fold", false);
    text = fold ? folded(block, text_in(block, "title")) : title + note + table_html(block);
  } else if (type == "bars") {
    const bool folds = block["table"].value("fold", false);
    text = title + note + bars_html(block) +
           (folds ? folded(block["table"], "as a table") : table_html(block["table"]));
  } else {  // page.js fills the picture
    text = title + note + "<div class=\"picture\" data-keep></div>\n" + folded(block, "as a table");
  }
  const std::string third = block.value("third", false) ? " third" : "";
  return "<div class=\"is-" + type + third + "\" id=\"" + id + "\">\n" + text + "</div>\n";
}

std::string state_html(const Json& state) {
  if (!state.is_object()) return "";
  const double done = number_at(state, "done", -1);
  return "<p class=\"state\"><b class=\"" + text_in(state, "name") + "\">" + text_in(state, "name") +
         "</b> <span>" + text_in(state, "text") + "</span> <span class=\"age\"></span></p>\n" +
         (done < 0 ? ""
                   : "<progress aria-label=\"share of the training that is done\" value=\"" + fixed(done, 4) +
                         "\">" + percent(done) + "</progress>\n");
}

// No name in the document can end the element.
std::string data_html(const Json& document) {
  std::string text;
  for (const char c : dump_json(document)) text += c == '<' ? "\\u003c" : std::string(1, c);
  return "<script type=\"application/json\" id=\"data\" data-keep>" + text + "</script>\n";
}

std::string head(const Json& document, const std::string& more) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         text_in(document, "title") + "</title>\n<style>\n" + chart_style + "\n" + page_style + "</style>\n" +
         more + "</head>\n<body>\n<main>\n";
}

}  // namespace

std::string live_part(const Json& document) {
  std::string text;
  for (std::size_t i = 0; i < document["sections"].size(); ++i) {
    const Json& section = document["sections"][i];
    const std::string id = "s" + std::to_string(i);
    text += "<section id=\"" + id + "\">\n<header id=\"" + id + "-head\"><h1>" + text_in(section, "title") +
            "</h1>\n" + element("p", text_in(section, "about"), " class=\"note\"") +
            state_html(section.value("state", Json())) + "</header>\n";
    for (const Json& block : section["blocks"]) text += block_html(block, id + "-" + text_at(block, "id"));
    text += "</section>\n";
  }
  return text + data_html(document);
}

std::string page(const Json& document) {
  return head(document, "") + live_part(document) + "</main>\n<script>\n" + chart_script +
         "\n</script>\n<script>\n" + page_script + "</script>\n</body>\n</html>\n";
}

std::string live_page(const Json& document) {
  return head(document,
              "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>\n"
              "<script src=\"dygraph.js\" defer></script>\n<script src=\"page.js\" defer></script>\n") +
         live_part(document) + "</main>\n</body>\n</html>\n";
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

std::string ideal_text(double percent_of_ideal, bool too_short, const char* unit) {
  if (too_short || percent_of_ideal > 100.5) return "too short to tell";
  return fixed(std::min(percent_of_ideal, 100.0), 1) + unit;
}

std::string percent(double share, int decimals) { return fixed(100 * share, decimals) + " %"; }

std::string grouped(double value, int decimals) {
  std::string text = fixed(value, decimals);
  const std::size_t first = text.find_first_of("0123456789");
  const std::size_t end = std::min(text.find('.'), text.size());
  for (std::size_t at = end; first != std::string::npos && at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (!(size > 0)) return "0";
  if (!std::isfinite(size)) return "-";
  const int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
  return grouped(value, std::min(std::max(decimals, 0), 8));
}

std::string at_text(double seconds) {
  return seconds < 59.95 ? fixed(seconds, 1) + " s" : duration_text(seconds);
}

}  // namespace steelyard
