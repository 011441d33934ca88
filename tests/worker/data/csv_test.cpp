#include "worker/data/sets/csv.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::csv_test {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Csv : public ::testing::Test {
 protected:
  DataSets open(const std::string& train, const std::string& test, CsvOptions options = {}) {
    options.train = folder_.write("train.csv", bytes_of(train));
    options.test = folder_.write("test.csv", bytes_of(test));
    return open_csv(options);
  }
  std::string complaint(const std::string& train, const std::string& test, const CsvOptions& options = {},
                        ExitCode code = ExitCode::io) {
    return complaint_of([&] { open(train, test, options); }, code);
  }
  const TemporaryFolder folder_;
};

TEST_F(Csv, TheLabelIsAColumnByNameOrNumber) {
  const std::string train = "x,kind,y\n1,dog,10\n3,cat,10\n", test = "x,kind,y\n2,cat,11\n";
  for (const char* label : {"kind", "2"}) {
    const DataSets sets = open(train, test, {.format = {.label = {label}}});
    EXPECT_EQ(sets.train->shape(), (nn::Shape{1, 1, 2}));
    EXPECT_EQ(sets.train->classes(), 2U);
    EXPECT_THAT(sample_of(*sets.train, 0).values, ElementsAre(-1, 0));
    EXPECT_THAT(sample_of(*sets.train, 0).labels, ElementsAre(1)) << "cat, dog";
    EXPECT_THAT(sample_of(*sets.test, 0).values, ElementsAre(0, 1)) << "a column of one value is not scaled";
    EXPECT_THAT(sample_of(*sets.test, 0).labels, ElementsAre(0));
    EXPECT_THAT(sets.class_names, ElementsAre("cat", "dog"));
    EXPECT_THAT(sets.column_names, ElementsAre("x", "y", "kind"));
  }
  const DataSets last = open("1,2,-1\n3,4,1\n", "5,6,1\n", {.format = {.header = false}, .normalize = false});
  EXPECT_THAT(sample_of(*last.train, 1).values, ElementsAre(3, 4));
  EXPECT_THAT(sample_of(*last.test, 0).labels, ElementsAre(1));
  EXPECT_THAT(last.normalization.mean, ElementsAre(0));
  EXPECT_THAT(last.class_names, ElementsAre("-1", "1"));
  EXPECT_THAT(last.column_names, IsEmpty());
}

TEST_F(Csv, FilesOfOneTableMayBeWrittenDifferently) {
  const DataSets sets = open("\xEF\xBB\xBFx;kind\r\n1;a\r\n3;b\r\n", "kind,id,x\nb,7,2\n");
  EXPECT_THAT(sample_of(*sets.test, 0).values, ElementsAre(0));
  EXPECT_THAT(sample_of(*sets.test, 0).labels, ElementsAre(1));
}

TEST_F(Csv, AMissingValueIsTheMeanOfTheOthers) {
  const CsvOptions mean{.format = {.missing = {MissingRule::Kind::mean}}};
  const DataSets sets = open("x,kind\n1,a\n,b\n3,a\n", "x,kind\n?,b\n3,b\n", mean);
  EXPECT_THAT(sets.normalization.mean, ElementsAre(2));
  EXPECT_THAT(sample_of(*sets.train, 0).values, ElementsAre(FloatNear(-1, 1e-6F)));
  EXPECT_THAT(sample_of(*sets.train, 1).values, ElementsAre(0));
  EXPECT_THAT(sample_of(*sets.test, 0).values, ElementsAre(0));
  CsvOptions raw = mean;
  raw.normalize = false;
  EXPECT_THAT(complaint("x,kind\n1,a\n", "x,kind\n1,a\n", raw, ExitCode::configuration),
              HasSubstr("leave normalize out"));
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
  EXPECT_THAT(complaint(good, good, {.format = {.label = {"kind"}}}), HasSubstr("no column 'kind'"));
  EXPECT_THAT(complaint("1,2\n", "1,2\n", {.format = {.label = {"3"}, .header = false}}),
              HasSubstr("from 1 to 2"));
}

CsvOptions numbers(std::vector<std::string> label, LabelKind kind = LabelKind::numbers) {
  return {.format = {.label = std::move(label), .kind = kind}};
}

TEST_F(Csv, TargetsAreColumnsOfNumbers) {
  const DataSets sets =
      open("x,price,y,age\n1,100,10,1\n3,300,10,5\n", "age,x,y,price\n9,2,11,200\n", numbers({"price", "4"}));
  EXPECT_EQ(sets.train->shape(), (nn::Shape{1, 1, 2}));
  EXPECT_EQ(sets.train->targets(), 2U);
  EXPECT_EQ(sets.train->classes(), 2U);
  EXPECT_THAT(sample_of(*sets.train, 1).values, ElementsAre(1, 0));
  EXPECT_THAT(targets_of(*sets.train, 0), ElementsAre(-1, -1)) << "(100 - 200) / 100, (1 - 3) / 2";
  EXPECT_THAT(targets_of(*sets.test, 0), ElementsAre(0, 3)) << "by mean and deviation of the training set";
  EXPECT_THAT(sets.target_scale.mean, ElementsAre(200, 3));
  EXPECT_THAT(sets.target_scale.deviation, ElementsAre(100, 2));
  EXPECT_THAT(sets.class_names, ElementsAre("price", "age"));
  EXPECT_THAT(sets.column_names, ElementsAre("x", "y", "price", "age"));
}

TEST_F(Csv, TargetsMayStayAsTheyAre) {
  CsvOptions raw = numbers({});
  raw.scale_targets = false;
  const DataSets sets = open("x,y\n1,7\n2,9\n", "x,y\n3,-1.5\n", raw);
  EXPECT_THAT(targets_of(*sets.test, 0), ElementsAre(-1.5F));
  EXPECT_THAT(sets.target_scale.mean, ElementsAre(0));
  EXPECT_THAT(sets.target_scale.deviation, ElementsAre(1));
  const DataSets answers =
      open("x,wet,cold\n1,0,1\n2,1,1\n", "x,wet,cold\n3,0,0\n", numbers({"wet", "cold"}, LabelKind::binary));
  EXPECT_THAT(targets_of(*answers.train, 0), ElementsAre(0, 1)) << "answers of 0 and 1 are not scaled";
  EXPECT_THAT(answers.target_scale.deviation, ElementsAre(1, 1));
}

TEST_F(Csv, ErrorsOfTargetsHaveTheirLine) {
  const std::string good = "x,y,z\n1,0,3\n2,1,4\n";
  EXPECT_THAT(complaint("x,y,z\n1,0,cheap\n", good, numbers({"z"})),
              HasSubstr("train.csv:2: column 3, the label: 'cheap' is not a finite number: correct it"));
  EXPECT_THAT(complaint("x,y,z\n1,0,1e300\n", good, numbers({"z"})), HasSubstr("'1e300' is not a finite"));
  EXPECT_THAT(complaint("x,y,z\n1,0,NA\n", good, numbers({"z"})),
              HasSubstr("column 3, the label, is empty: fill it in, or set missing = \"drop\""));
  EXPECT_THAT(complaint(good, good, numbers({"y", "z"}, LabelKind::binary)),
              HasSubstr("train.csv:2: column 3, the label: '3' is neither 0 nor 1"));
  EXPECT_THAT(complaint(good, good, {.format = {.label = {"y", "z"}}}),
              HasSubstr("label names 2 columns, and a label of classes has one"));
  EXPECT_THAT(complaint(good, good, numbers({"x", "y", "z"})), HasSubstr("leave at least one"));
  CsvOptions dropping = numbers({"z"});
  dropping.format.missing = {MissingRule::Kind::drop};
  EXPECT_EQ(open("x,y,z\n1,0,NA\n2,1,4\n", good, dropping).train->size(), 1U);
}

}  // namespace
}  // namespace steelyard::csv_test
