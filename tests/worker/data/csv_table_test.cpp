#include "worker/data/csv_table.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/options.h"
#include "tests/worker/data/data_checks.h"

namespace steelyard::csv_table_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = MissingRule::Kind;

class CsvTableTest : public ::testing::Test {
 protected:
  CsvTable read(const std::string& text, const CsvFormat& format = {}) {
    return read_csv_table(open_bytes(folder_.write("t.csv", bytes_of(text))), format);
  }
  CsvTable read_like(const KnownColumns& known, const std::string& text, const CsvFormat& format = {}) {
    return read_csv_table(open_bytes(folder_.write("t.csv", bytes_of(text))), format, known);
  }
  std::string complaint(const std::string& text, const CsvFormat& format = {}) {
    return complaint_of([&] { read(text, format); });
  }
  std::string complaint_like(const KnownColumns& known, const std::string& text,
                             const CsvFormat& format = {}) {
    return complaint_of([&] { read_like(known, text, format); });
  }
  const TemporaryFolder folder_;
};

const std::string people = "id,height,city,weight,kind\n7,1.5,Rome,60,cat\n8,1.75,Oslo,70,dog\n";

TEST_F(CsvTableTest, ColumnsAreChosenByNameOrNumber) {
  for (const char* height : {"height", "2"}) {
    const CsvTable table = read(people, {.columns = {"weight", height}});
    EXPECT_THAT(table.values, ElementsAre(60, 1.5F, 70, 1.75F)) << "in the order of the list";
    EXPECT_THAT(table.names, ElementsAre("weight", "height", "kind"));
    EXPECT_THAT(table.labels, ElementsAre("cat", "dog"));
    EXPECT_EQ(table.columns, 2U);
  }
}

TEST_F(CsvTableTest, ColumnsAreSkippedByNameOrNumber) {
  const CsvTable table = read(people, {.label = {"city"}, .skip = {"id", "5"}});
  EXPECT_THAT(table.values, ElementsAre(1.5F, 60, 1.75F, 70));
  EXPECT_THAT(table.labels, ElementsAre("Rome", "Oslo"));
}

TEST_F(CsvTableTest, ColumnsThatAreNotThereAreRefused) {
  EXPECT_THAT(complaint(people, {.columns = {"hight"}}),
              HasSubstr("t.csv:1: there is no column 'hight'; did you mean \"height\"?"));
  EXPECT_THAT(complaint(people, {.skip = {"6"}}), HasSubstr("no column '6'"));
  EXPECT_THAT(complaint(people, {.skip = {"city", "kind"}}),
              HasSubstr("column 'kind' is the label: leave it out of skip"));
  EXPECT_THAT(complaint(people, {.columns = {"kind"}}), HasSubstr("leave it out of columns"));
  EXPECT_THAT(complaint(people, {.skip = {"1", "2", "3", "4"}}), HasSubstr("leave at least one"));
}

TEST_F(CsvTableTest, AFileWithoutHeaderDoesNotLoseItsFirstRecord) {
  EXPECT_THAT(complaint("1,2,0\n3,4,1\n"),
              HasSubstr("t.csv:1: its first line has numbers only: if the file has "
                        "no header, set header = false"));
  EXPECT_EQ(read("1,2,0\n3,4,1\n", {.header = false}).size(), 2U);
}

TEST_F(CsvTableTest, ATextColumnIsRefusedWithTheRemedy) {
  EXPECT_THAT(complaint(people), AllOf(HasSubstr("t.csv:2: column 3: 'Rome' is not a finite number"),
                                       HasSubstr("leave the column out, as in skip = [3]")));
}

TEST_F(CsvTableTest, MissingValuesFollowTheRule) {
  const std::string text = "x,y,kind\n1,,a\nNA,2,b\n3,4,a\n5, ,b\n";
  EXPECT_THAT(complaint(text),
              AllOf(HasSubstr("t.csv:2: column 2: '' is not a finite number"),
                    HasSubstr("set missing = \"mean\", \"drop\" or a number"), HasSubstr("skip = [2]")));
  const CsvTable dropped = read(text, {.missing = {Kind::drop}});
  EXPECT_THAT(dropped.values, ElementsAre(3, 4));
  EXPECT_THAT(dropped.labels, ElementsAre("a"));
  EXPECT_THAT(dropped.numbers, ElementsAre(2));
  EXPECT_THAT(dropped.lines, ElementsAre(4));
  EXPECT_THAT(read(text, {.missing = {Kind::number, -1}}).values, ElementsAre(1, -1, -1, 2, 3, 4, 5, -1));
  const CsvTable means = read(text, {.missing = {Kind::mean}});
  EXPECT_TRUE(std::isnan(means.values[1]) && std::isnan(means.values[2]) && std::isnan(means.values[7]));
  EXPECT_THAT(complaint("x,kind\n,a\n", {.missing = {Kind::drop}}), HasSubstr("each of its records lacks"));
  EXPECT_THAT(complaint("x,y,kind\n1,two,a\n", {.missing = {Kind::mean}}),
              HasSubstr("'two' is not a finite"));
}

TEST_F(CsvTableTest, AMissingLabelIsRefusedOrDropped) {
  const std::string text = "x,kind\n1,\n2,b\n";
  EXPECT_THAT(complaint(text, {.missing = {Kind::mean}}),
              AllOf(HasSubstr("t.csv:2: column 2, the label, is empty"), HasSubstr("missing = \"drop\"")));
  EXPECT_THAT(read(text, {.missing = {Kind::drop}}).labels, ElementsAre("b"));
}

TEST_F(CsvTableTest, DecimalCommasAreAnOption) {
  EXPECT_THAT(complaint("x;kind\n1,5;a\n"), HasSubstr("set decimal = \",\""));
  EXPECT_THAT(read("x;kind\n1,5;a\n", {.decimal = ','}).values, ElementsAre(1.5F));
  EXPECT_THAT(complaint("x;kind\n1.234,5;a\n", {.decimal = ','}),
              HasSubstr("'1.234,5' is not a finite number"));
}

TEST_F(CsvTableTest, OneColumnIsRefusedWithSeparators) {
  EXPECT_THAT(complaint("a~b\n1~2\n"),
              HasSubstr("t.csv:1: expected a label and at least one value, found one "
                        "column: separate columns by commas, semicolons or tabs"));
}

TEST_F(CsvTableTest, AnotherFileOfTheTableMayHaveOtherColumnsInAnyOrder) {
  const KnownColumns known{{"height", "weight", "kind"}, 2, "train.csv", false};
  const CsvTable labelled = read_like(known, "note,kind,weight,height\nnew,dog,60,1.5\n");
  EXPECT_THAT(labelled.values, ElementsAre(1.5F, 60));
  EXPECT_THAT(labelled.labels, ElementsAre("dog"));
  const CsvTable bare = read_like(known, "weight,height\n60,1.5\n");
  EXPECT_THAT(bare.values, ElementsAre(1.5F, 60));
  EXPECT_THAT(bare.labels, IsEmpty());
  EXPECT_THAT(read_like(known, "weight,height,kind\n60,1.5,\n").labels, ElementsAre("")) << "not known yet";
  EXPECT_THAT(complaint_like(known, "weight,hight\n60,1.5\n"),
              AllOf(HasSubstr("t.csv:1: its columns are not those of train.csv: there is no column 'height'"),
                    HasSubstr("(valid: weight, hight)")));
  EXPECT_THAT(complaint_like({known.names, 2, "train.csv"}, "weight,height\n60,1.5\n"),
              HasSubstr("there is no label 'kind'"));
}

TEST_F(CsvTableTest, WithoutAHeaderTheNumberOfColumnsDecides) {
  const KnownColumns known{{}, 2, "train.csv", false};
  const CsvFormat format{.label = {"1"}, .header = false};
  const CsvTable labelled = read_like(known, "dog,1.5,60\n", format);
  EXPECT_THAT(labelled.values, ElementsAre(1.5F, 60));
  EXPECT_THAT(labelled.labels, ElementsAre("dog"));
  const CsvTable bare = read_like(known, "1.5,60\n", format);
  EXPECT_THAT(bare.values, ElementsAre(1.5F, 60));
  EXPECT_THAT(bare.labels, IsEmpty());
  EXPECT_THAT(complaint_like(known, "1,2,3,4\n", format),
              HasSubstr("expected 2 inputs, with or without a label, found 4 columns"));
}

TEST_F(CsvTableTest, AHeaderHasAFieldThatIsNoNumber) {
  const auto has = [&](const std::string& text) {
    return has_csv_header(open_bytes(folder_.write("t.csv", bytes_of(text))), {});
  };
  EXPECT_TRUE(has("x,y\n1,2\n"));
  EXPECT_FALSE(has("1,2\n"));
  EXPECT_FALSE(has("1,NA,-3e5\n"));
  EXPECT_FALSE(has(""));
}

TEST(CsvFormatTest, IsReadFromOptions) {
  const auto format = [](const OptionTexts& texts) {
    return csv_format(Options("data set 'csv'", csv_format_options(), texts));
  };
  const auto complaint = [&](const OptionTexts& texts) {
    return complaint_of([&] { format(texts); }, ExitCode::configuration);
  };
  const CsvFormat otherwise = format({});
  EXPECT_EQ(otherwise.separator, 0);
  EXPECT_EQ(otherwise.decimal, '.');
  EXPECT_EQ(otherwise.missing.kind, Kind::refuse);
  EXPECT_TRUE(otherwise.header && otherwise.label.empty() && otherwise.columns.empty());
  EXPECT_EQ(format({{"separator", ";"}}).separator, ';');
  EXPECT_EQ(format({{"separator", "tab"}}).separator, '\t');
  EXPECT_EQ(format({{"missing", "mean"}}).missing.kind, Kind::mean);
  EXPECT_EQ(format({{"missing", "-1.5"}}).missing.number, -1.5);
  EXPECT_THAT(format({{"columns", R"(["a b","2"])"}}).columns, ElementsAre("a b", "2"));
  EXPECT_THAT(format({{"skip", "id"}}).skip, ElementsAre("id"));
  EXPECT_THAT(complaint({{"separator", "x"}}), HasSubstr("give \"auto\", \",\", \";\", \"|\" or \"tab\""));
  EXPECT_THAT(complaint({{"missing", "median"}}), HasSubstr("\"drop\", \"mean\" or a number"));
  EXPECT_THAT(complaint({{"columns", "x"}, {"skip", "y"}}), HasSubstr("leave skip out"));
}

}  // namespace
}  // namespace steelyard::csv_table_test
