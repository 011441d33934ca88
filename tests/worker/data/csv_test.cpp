#include "worker/data/sets/text_rows.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::csv_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Records = std::vector<std::pair<std::uint64_t, std::vector<std::string>>>;

class Csv : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& text) {
    return folder_.write(name, bytes_of(text));
  }
  Records records(const std::string& text) {
    Records all;
    read_csv(open_bytes(file("r.csv", text)),
             [&](std::uint64_t line, const auto& fields) { all.emplace_back(line, fields); });
    return all;
  }
  DataSets open(const std::string& train, const std::string& test, CsvOptions options = {}) {
    options.train = file("train.csv", train), options.test = file("test.csv", test);
    return open_csv(options);
  }
  std::string complaint(const std::string& train, const std::string& test, CsvOptions options = {}) {
    return complaint_of([&] { open(train, test, options); });
  }
  const TemporaryFolder folder_;
};

TEST_F(Csv, FieldsFollowRfc4180) {
  EXPECT_EQ(records("a,b\r\n\"c,\"\"d\"\"\",\"e\nf\"\ng,"),
            (Records{{1, {"a", "b"}}, {2, {"c,\"d\"", "e\nf"}}, {4, {"g", ""}}}));
  EXPECT_EQ(records("\n\n1\n"), (Records{{3, {"1"}}})) << "empty lines are skipped";
  EXPECT_THAT(records(""), IsEmpty());
  EXPECT_EQ(records(",\n"), (Records{{1, {"", ""}}}));
  EXPECT_THAT(complaint_of([&] { records("a\nb,\"c"); }), HasSubstr("r.csv:2: a quote is opened"));
  EXPECT_THAT(complaint_of([&] { records("a\"b\n"); }), HasSubstr("r.csv:1: a quote"));
  EXPECT_THAT(complaint_of([&] { records("\"a\"b\n"); }), HasSubstr("in the middle of a field"));
}

TEST_F(Csv, TheLabelIsAColumnByNameOrNumber) {
  const std::string train = "x,kind,y\n1,dog,10\n3,cat,10\n", test = "x,kind,y\n2,cat,11\n";
  for (const char* label : {"kind", "2"}) {
    const DataSets sets = open(train, test, {.label = label});
    EXPECT_EQ(sets.train->shape(), (nn::Shape{1, 1, 2}));
    EXPECT_EQ(sets.train->classes(), 2U);
    EXPECT_THAT(sample_of(*sets.train, 0).values, ElementsAre(-1, 0));
    EXPECT_THAT(sample_of(*sets.train, 0).labels, ElementsAre(1)) << "cat, dog";
    EXPECT_THAT(sample_of(*sets.test, 0).values, ElementsAre(0, 1)) << "a column of one value is not scaled";
    EXPECT_THAT(sample_of(*sets.test, 0).labels, ElementsAre(0));
  }
  const DataSets last = open("1,2,-1\n3,4,1\n", "5,6,1\n", {.header = false, .normalize = false});
  EXPECT_THAT(sample_of(*last.train, 1).values, ElementsAre(3, 4));
  EXPECT_THAT(sample_of(*last.test, 0).labels, ElementsAre(1));
  EXPECT_THAT(last.normalization.mean, ElementsAre(0));
}

TEST_F(Csv, ErrorsHaveTheirLine) {
  const std::string good = "x,y\n1,0\n2,1\n";
  EXPECT_THAT(complaint("x,y\n1,0\n,1\n", good),
              HasSubstr("train.csv:3: column 1: '' is not a finite number"));
  EXPECT_THAT(complaint("x,y\n1,0\nnan,1\n", good), HasSubstr("train.csv:3: column 1: 'nan'"));
  EXPECT_THAT(complaint("x,y\n1,0\n1,2,3\n", good),
              HasSubstr("train.csv:3: expected 2 columns, as in the first record, found 3"));
  EXPECT_THAT(complaint("x,y\n", good), HasSubstr("train.csv:1: it has no records"));
  EXPECT_THAT(complaint("y\n1\n", good), HasSubstr("a label and at least one value"));
  EXPECT_THAT(complaint(good, "x,y\n1,5\n"), HasSubstr("test.csv:2: label '5' is not among those"));
  EXPECT_THAT(complaint(good, "a,y\n1,1\n"), HasSubstr("test.csv:1: its columns are not those of"));
  EXPECT_THAT(complaint(good, good, {.label = "kind"}), HasSubstr("no column 'kind'"));
  EXPECT_THAT(complaint("1,2\n", "1,2\n", {.label = "3", .header = false}), HasSubstr("from 1 to 2"));
}

}  // namespace
}  // namespace steelyard::csv_test
