#include "worker/data/csv_file.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::csv_file_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Records = std::vector<std::pair<std::uint64_t, std::vector<std::string>>>;

class CsvFile : public ::testing::Test {
 protected:
  Records records(const std::string& text, char separator = 0) {
    Records all;
    read_csv(open_bytes(folder_.write("r.csv", bytes_of(text))), separator,
             [&](std::uint64_t line, const auto& fields) { all.emplace_back(line, fields); });
    return all;
  }
  std::string complaint(const std::string& text) {
    return complaint_of([&] { records(text); });
  }
  const TemporaryFolder folder_;
};

TEST_F(CsvFile, FieldsFollowRfc4180) {
  EXPECT_EQ(records("a,b\r\n\"c,\"\"d\"\"\",\"e\nf\"\ng,"),
            (Records{{1, {"a", "b"}}, {2, {"c,\"d\"", "e\nf"}}, {4, {"g", ""}}}));
  EXPECT_EQ(records("\n\n1\n"), (Records{{3, {"1"}}})) << "empty lines are skipped";
  EXPECT_THAT(records(""), IsEmpty());
  EXPECT_EQ(records(",\n"), (Records{{1, {"", ""}}}));
  EXPECT_THAT(complaint("a\nb,\"c"), HasSubstr("r.csv:2: a quote is opened"));
  EXPECT_THAT(complaint("a\"b\n"), HasSubstr("r.csv:1: a quote"));
  EXPECT_THAT(complaint("\"a\"b\n"), HasSubstr("in the middle of a field"));
}

TEST_F(CsvFile, BlanksAroundFieldsAreNoPartOfThem) {
  EXPECT_EQ(records("a, b c , \" d\" ,\n"), (Records{{1, {"a", "b c", " d", ""}}}));
}

TEST_F(CsvFile, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(records("\xEF\xBB\xBFheight,kind\n1,2\n"), records("height,kind\n1,2\n"));
  EXPECT_EQ(records("\xEF\xBB\xBF\"height\",kind\n"), records("height,kind\n"));
}

TEST_F(CsvFile, TheSeparatorIsFoundInTheFirstRecord) {
  const Records two{{1, {"a", "b"}}, {2, {"1,5", "2"}}};
  EXPECT_EQ(records("a;b\n1,5;2\n"), two);
  EXPECT_EQ(records("a\tb\n1,5\t2\n"), two);
  EXPECT_EQ(records("a|b\n1,5|2\n"), two);
  EXPECT_EQ(records("\n\"x;y;z\",b\n"), (Records{{2, {"x;y;z", "b"}}})) << "not inside quotes";
  EXPECT_EQ(records("1,5;2,5;cat\n"), (Records{{1, {"1,5", "2,5", "cat"}}})) << "commas are decimal here";
  EXPECT_EQ(records("a,b;c;d\n", ','), (Records{{1, {"a", "b;c;d"}}}))
      << "if it is given, it is not searched";
  EXPECT_EQ(records("a,,\tb\n", '\t'), (Records{{1, {"a,,", "b"}}}));
}

// In UTF-16, ASCII letters have a zero byte before or after them.
TEST_F(CsvFile, Utf16IsNamedWithTheRemedy) {
  const std::string little{"a\0,\0b\0\n\0", 8}, big{"\0a\0,\0b\0\n", 8};
  for (const std::string& text : {"\xFF\xFE" + little, "\xFE\xFF" + big, little, big})
    EXPECT_THAT(complaint(text), AllOf(HasSubstr("r.csv: it is UTF-16"), HasSubstr("save it as UTF-8")));
}

}  // namespace
}  // namespace steelyard::csv_file_test
