#include "worker/data/sets/libsvm.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::libsvm_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LibSvm : public ::testing::Test {
 protected:
  DataSets open(const std::string& train, const std::string& test, std::uint32_t columns = 0) {
    return open_libsvm(folder_.write("train", bytes_of(train)),
                       folder_.write("test", gzipped(bytes_of(test))), columns);
  }
  std::string complaint(const std::string& train, std::uint32_t columns = 0) {
    return complaint_of([&] { open(train, "1 1:1\n", columns); });
  }
  const TemporaryFolder folder_;
};

TEST_F(LibSvm, MissingValuesAreZero) {
  const DataSets sets = open("+1 2:0.5 4:-2 # a comment\r\n\n-1\n", "-1 5:1");
  EXPECT_EQ(sets.train->size(), 2U);
  EXPECT_EQ(sets.train->shape(), (nn::Shape{1, 1, 5})) << "the test set has a fifth column";
  EXPECT_EQ(sets.train->classes(), 2U);
  EXPECT_THAT(sample_of(*sets.train, 0).values, ElementsAre(0, 0.5, 0, -2, 0));
  EXPECT_THAT(sample_of(*sets.train, 0).labels, ElementsAre(1));
  EXPECT_THAT(sample_of(*sets.train, 1).values, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(sample_of(*sets.test, 0).labels, ElementsAre(0));
  EXPECT_EQ(open("1 1:1\n2 1:1\n", "1 1:1\n", 9).test->shape().size(), 9U);
}

TEST_F(LibSvm, ErrorsHaveTheirLine) {
  EXPECT_THAT(complaint(""), HasSubstr("train:1: it has no samples"));
  EXPECT_THAT(complaint("1 1:1\ncat 1:1\n"), HasSubstr("train:2: label 'cat' is not a number"));
  EXPECT_THAT(complaint("1 1:1\n1 2\n"), HasSubstr("train:2: '2' is not an index:value"));
  EXPECT_THAT(complaint("1 1:x\n"), HasSubstr("'1:x' is not an index:value"));
  EXPECT_THAT(complaint("1 1:nan\n"), HasSubstr("a finite number"));
  EXPECT_THAT(complaint("1 0:1\n"), HasSubstr("index 0"));
  EXPECT_THAT(complaint("1 3:1 2:1\n"), HasSubstr("index 2 after 3"));
  EXPECT_THAT(complaint("1 3:1\n", 2), HasSubstr("index 3: give indices from 1 to 2"));
  EXPECT_THAT(complaint("1 4294967295:1\n"), HasSubstr("from 1 to 16777216"));
  EXPECT_THAT(complaint("2 1:1\n3 1:1\n"), HasSubstr("test: label '1' is not among those"));
}

}  // namespace
}  // namespace steelyard::libsvm_test
