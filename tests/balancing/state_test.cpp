#include "balancing/state.h"

#include <gmock/gmock.h>

#include <limits>

#include "core/error.h"

namespace steelyard::balancing::state_test {
namespace {

using testing::ElementsAre;

TEST(State, ReadsWhatWasWritten) {
  const double awkward = 0.1 + 0.2;
  const std::string text = StateWriter("me.1")
                               .count(UINT64_MAX)
                               .real(awkward)
                               .real(std::numeric_limits<double>::denorm_min())(std::vector{1.5, -2.0, 1e300})
                               .text("with spaces and 7:colons")
                               .text("")
                               .str();
  StateReader reader(text, "me.1");
  EXPECT_EQ(reader.count(), UINT64_MAX);
  EXPECT_EQ(reader.real(), awkward);
  EXPECT_EQ(reader.real(), std::numeric_limits<double>::denorm_min());
  std::vector<double> values;
  reader(at_most(3, values));
  EXPECT_THAT(values, ElementsAre(1.5, -2, 1e300));
  EXPECT_EQ(reader.text(), "with spaces and 7:colons");
  EXPECT_EQ(reader.text(), "");
  EXPECT_NO_THROW(reader.end());
}

TEST(State, TruncatedStateIsRefused) {
  const std::string whole = StateWriter("me.1").count(12).real(0.5)(std::vector{1.0, 2.0}).text("abc").str();
  const auto read = [](const std::string& text) {
    StateReader reader(text, "me.1");
    reader.count();
    reader.real();
    std::vector<double> values;
    reader(at_most(2, values));
    reader.text();
    reader.end();
  };
  EXPECT_NO_THROW(read(whole));
  EXPECT_THROW(read(whole + "x"), Failure);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(read(whole.substr(0, length)), Failure) << length << " bytes";
  }
}

TEST(State, RefusalsNameTheOwner) {
  try {
    StateReader("you.1 ", "me.1");
    FAIL() << "accepted the title of another owner";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    EXPECT_THAT(failure.what(), testing::HasSubstr("me.1"));
  }
}

TEST(State, NumbersOutOfRangeAreRefused) {
  EXPECT_THROW(StateReader("me -1 ", "me").count(), Failure);
  EXPECT_THROW(StateReader("me 1.5 ", "me").count(), Failure);
  EXPECT_THROW(StateReader("me 99999999999999999999 ", "me").count(), Failure);
  EXPECT_THROW(StateReader("me 11 ", "me").count(10), Failure);
  std::vector<double> values;
  EXPECT_THROW(StateReader("me 3 1 2 3 ", "me")(at_most(2, values)), Failure);
  EXPECT_THROW(StateReader("me nan ", "me").real(), Failure);
  EXPECT_THROW(StateReader("me inf ", "me").real(), Failure);
  EXPECT_THROW(StateReader("me 18446744073709551615:abc ", "me").text(), Failure);
}

}  // namespace
}  // namespace steelyard::balancing::state_test
