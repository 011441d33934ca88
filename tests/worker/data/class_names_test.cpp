#include "worker/data/samples.h"

#include <gtest/gtest.h>

namespace steelyard::class_names_test {
namespace {

TEST(ClassNames, NumbersAreSortedByValue) {
  const ClassNames names({"10", "-1", "+2", "2.0", "10"});
  EXPECT_EQ(names.size(), 3U);
  EXPECT_EQ(names.names(), (std::vector<std::string>{"-1", "+2", "10"}));
  EXPECT_EQ(names.find("-1"), 0U);
  EXPECT_EQ(names.find("2"), 1U);
  EXPECT_EQ(names.find("1e1"), 2U);
  EXPECT_EQ(names.find("3"), std::nullopt);
  EXPECT_EQ(names.find("cat"), std::nullopt);
}

TEST(ClassNames, OtherNamesAreSortedAlphabetically) {
  const ClassNames names({"dog", "cat", "7", "cat"});
  EXPECT_EQ(names.size(), 3U);
  EXPECT_EQ(names.names(), (std::vector<std::string>{"7", "cat", "dog"}));
  EXPECT_EQ(names.find("7"), 0U);
  EXPECT_EQ(names.find("cat"), 1U);
  EXPECT_EQ(names.find("dog"), 2U);
  EXPECT_EQ(names.find("07"), std::nullopt) << "7 is a text here";
}

TEST(ClassNames, OnlyWholeTextsAreNumbers) {
  for (const char* good : {"0", "-1.5", "+3", "1e-3", "17."}) EXPECT_TRUE(finite_number(good)) << good;
  for (const char* bad : {"", "+", "+-1", "1 ", " 1", "1,5", "0x10", "nan", "inf", "-inf", "1e999"})
    EXPECT_FALSE(finite_number(bad)) << bad;
}

}  // namespace
}  // namespace steelyard::class_names_test
