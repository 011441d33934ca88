// Documents as HTML.
#include "app/report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/report/page/document.h"

namespace steelyard::page_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Json a_document() {
  Json section = section_of("a<b", "about");
  section["state"] = {{"name", "running"}, {"text", "round 7"}, {"final", false}, {"done", 0.25}};
  add_block(section, text_block("finding", "Lead.", " More <text>."));
  add_block(section, table_block("table", "Rows", {{"name", "value"}, {"</script>", "1"}}));
  add_block(
      section,
      chart_block(
          {.id = "loss", .title = "Loss", .note = "", .unit = "", .series = {{"a", 0, {0, 1}, {2, 1}}}}));
  add_block(section, Json());
  return {{"kind", "run"}, {"title", "a<b"}, {"sections", Json::array({section})}};
}

TEST(Page, IsReadableWithoutScripts) {
  EXPECT_THAT(
      live_part(a_document()),
      AllOf(HasSubstr("<h1>a&lt;b</h1>"), HasSubstr("<b class=\"running\">running</b>"), HasSubstr("round 7"),
            HasSubstr("value=\"0.2500\""), HasSubstr("<b>Lead.</b>"), HasSubstr("More &lt;text&gt;."),
            HasSubstr("<th>value</th>"), HasSubstr("<td><bdi>&lt;/script&gt;</bdi></td>"),
            HasSubstr("<summary>as a table</summary>")));
}

TEST(Page, IsOneFileWithStyleScriptsAndData) {
  const std::string text = page(a_document());
  EXPECT_THAT(text,
              AllOf(HasSubstr("<title>a&lt;b</title>"), HasSubstr("prefers-color-scheme: dark"),
                    HasSubstr("const steelyard"), HasSubstr("MIT"), HasSubstr("Permission is hereby granted"),
                    Not(HasSubstr("<script src")), Not(HasSubstr("sourceMappingURL"))));
  const std::string begin = "id=\"data\" data-keep>";
  const std::size_t from = text.find(begin) + begin.size();
  const Json data = parse_json(text.substr(from, text.find("</script>", from) - from));
  EXPECT_EQ(data, a_document()) << "a name must not close the script element";
}

// The server's content security policy forbids inline scripts.
TEST(Page, TheLivePageLoadsScriptsFromFiles) {
  EXPECT_THAT(
      live_page(a_document()),
      AllOf(HasSubstr("<script src=\"dygraph.js\" defer>"), HasSubstr("<script src=\"page.js\" defer>"),
            HasSubstr(live_part(a_document())), HasSubstr("<style>"), Not(HasSubstr("<script>"))));
}

TEST(Page, TextIsEscaped) {
  EXPECT_EQ(escaped("<b>\"&\033[2J\xC2\x9B"), "&lt;b&gt;&quot;&amp;\\x1b[2J\\x9b");
}

TEST(Page, NumbersHaveThreeDigitsOrSeparators) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.01234), "0.0123");
  EXPECT_EQ(short_number(4.5678), "4.57");
  EXPECT_EQ(short_number(-45.678), "-45.7");
  EXPECT_EQ(short_number(45678.9), "45,679");
  EXPECT_EQ(grouped(25558), "25,558");
  EXPECT_EQ(grouped(-1234567.25, 2), "-1,234,567.25");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(at_text(7.31), "7.3 s");
  EXPECT_EQ(at_text(59.96), "1:00");
}

}  // namespace
}  // namespace steelyard::page_test
