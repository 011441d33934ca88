#include "app/render/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::yaml_test {
namespace {

std::string text_of(const char* json) { return yaml_text(parse_json_strictly(json)); }

TEST(Yaml, ObjectsAndListsAreBlocks) {
  EXPECT_EQ(text_of(R"({"kind": "Job", "spec": {"count": 2, "on": true, "none": null, "share": 0.5}})"),
            "kind: Job\nspec:\n  count: 2\n  \"on\": true\n  none: null\n  share: 0.5\n");
  EXPECT_EQ(text_of(R"({"items": [{"name": "a", "port": 1}, {"name": "b"}], "words": ["x", "y z"]})"),
            "items:\n  - name: a\n    port: 1\n  - name: b\nwords:\n  - x\n  - \"y z\"\n");
  EXPECT_EQ(text_of(R"([{"deep": {"er": [{"est": ["a"]}]}}])"),
            "- deep:\n    er:\n      - est:\n          - a\n");
  EXPECT_EQ(text_of(R"([["a"], []])"), "-\n  - a\n- []\n");
}

TEST(Yaml, NumbersShareALine) { EXPECT_EQ(text_of(R"({"codes": [2, 76]})"), "codes: [2, 76]\n"); }

TEST(Yaml, EmptyValuesAreWritten) {
  EXPECT_EQ(text_of(R"({"volume": {}, "list": [], "text": ""})"), "volume: {}\nlist: []\ntext: \"\"\n");
  EXPECT_EQ(text_of("{}"), "{}\n");
}

// Unquoted, another reader would take each of these for something else than this text.
TEST(Yaml, AmbiguousTextIsQuoted) {
  for (const char* text :
       {"yes",  "No",   "TRUE",       "off",   "y",  "null", "~",  "1",  "0x1", "1e3",  ".5",   "-",  "- a",
        "a: b", "a #b", "2026-11-26", "60:30", "=",  "<<",   "*a", "&a", "!a",  "%a",   "@a",   "`a", "{a",
        "[a",   "a:",   " a",         "a ",    "-f", "|",    ">",  "'a", "?",   ".inf", ".nan", ""}) {
    EXPECT_EQ(yaml_text(Json{{"key", text}}), "key: \"" + std::string(text) + "\"\n");
  }
  for (const char* text : {"/etc/keys", "quick-lead-0-0.quick:7070", "member", "jobset.x-k8s.io/v1alpha2",
                           "a=b", "--size=5", "N", "yesterday"}) {
    const std::string plain = yaml_text(Json{{"key", text}});
    EXPECT_EQ(plain, text == std::string("N") ? "key: \"N\"\n" : "key: " + std::string(text) + "\n");
  }
}

TEST(Yaml, SpecialCharactersAreEscaped) {
  EXPECT_EQ(yaml_text(Json{{"a b", "\"\\\t\x7F"}}), "\"a b\": \"\\\"\\\\\\U00000009\\U0000007F\"\n");
  EXPECT_EQ(yaml_text(Json{{"key", "gr\u00FC\u00DF \U0001F600"}}), "key: \"gr\u00FC\u00DF \U0001F600\"\n");
  EXPECT_EQ(yaml_text(Json{{"key", "a\u2028b\u0085"}}), "key: \"a\\U00002028b\\U00000085\"\n");
}

TEST(Yaml, LinesOfTextAreABlock) {
  EXPECT_EQ(yaml_text(Json{{"job", "[job]\nname = \"a: b\"\n\n  deep\n"}}),
            "job: |\n  [job]\n  name = \"a: b\"\n\n    deep\n");
  EXPECT_EQ(yaml_text(Json{{"job", "a\nb"}}), "job: |-\n  a\n  b\n");
  EXPECT_EQ(yaml_text(Json{{"job", "a\n\n"}, {"next", 1}}), "job: |+\n  a\n\nnext: 1\n");
}

TEST(Yaml, LinesThatABlockWouldChangeAreQuoted) {
  EXPECT_EQ(yaml_text(Json{{"job", " a\nb\n"}}), "job: \" a\\nb\\n\"\n") << "a blank first";
  EXPECT_EQ(yaml_text(Json{{"job", "\na\n"}}), "job: \"\\na\\n\"\n") << "an empty line first";
  EXPECT_EQ(yaml_text(Json{{"job", "a\r\nb\n"}}), "job: \"a\\U0000000D\\nb\\n\"\n") << "a carriage return";
}

}  // namespace
}  // namespace steelyard::yaml_test
