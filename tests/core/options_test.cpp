#include "core/options.h"

#include <gmock/gmock.h>

#include <new>

namespace steelyard::options_test {
namespace {

using ::testing::HasSubstr;

const std::vector<Option> declared{
    whole_option("width", 32, 1, 4096, "units"),         number_option("share", 0, 0, below(1), "dropped"),
    number_option("noise", std::nullopt, 0, 2.5, ""),    flag_option("guard", true, ""),
    word_option("start", "slow", {"quick", "slow"}, ""), text_option("dir", "", "a folder")};

std::string refusal(const OptionTexts& given) {
  const auto trouble = trouble_in("model 'mine'", declared, given);
  return trouble ? trouble->what : "accepted";
}

template <class Work>
std::string failure_of(const Work& work, ExitCode code) {
  try {
    work();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "no failure";
}

TEST(Options, HaveGivenValuesAndDefaults) {
  const Options defaults("model 'mine'", declared, {});
  EXPECT_EQ(defaults.whole("width"), 32U);
  EXPECT_EQ(defaults.number("share"), 0);
  EXPECT_FALSE(defaults.has("noise"));
  EXPECT_FALSE(defaults.has("dir"));
  EXPECT_TRUE(defaults.flag("guard"));
  EXPECT_EQ(defaults.text("start"), "slow");
  const Options given("", declared, {{"width", "7"}, {"noise", "2.5"}, {"guard", "false"}, {"dir", "/tmp"}});
  EXPECT_EQ(given.whole("width"), 7U);
  EXPECT_EQ(given.number("noise"), 2.5);
  EXPECT_FALSE(given.flag("guard"));
  EXPECT_EQ(given.text("dir"), "/tmp");
}

TEST(Options, RefusalsStateNameValueAndRange) {
  for (const char* bad : {"-3", "0", "4097", "abc", "", "1.5", "1e2", "99999999999999999999"}) {
    EXPECT_EQ(refusal({{"width", bad}}),
              "model 'mine', option width = '" + std::string(bad) + "': give a whole number from 1 to 4096");
  }
  for (const char* bad : {"1", "-0.1", "nan", "inf", "3 %", ""})
    EXPECT_THAT(refusal({{"share", bad}}), HasSubstr("give a number of at least 0 and below 1")) << bad;
  EXPECT_THAT(refusal({{"noise", "2.6"}}), HasSubstr("give a number from 0 to 2.5"));
  EXPECT_THAT(refusal({{"guard", "yes"}}), HasSubstr("give true or false"));
  EXPECT_THAT(refusal({{"start", "slwo"}}), HasSubstr("give one of quick, slow"));
  EXPECT_EQ(refusal({{"widht", "3"}}),
            "model 'mine' has no option 'widht'; did you mean \"width\"? (valid: width, share, noise, guard, "
            "start, dir)");
  EXPECT_EQ(trouble_in("model 'x'", {}, {{"a", "1"}})->what,
            "model 'x' has no option 'a'; it has no options");
}

TEST(Options, ReadingAnUndeclaredOptionFails) {
  const Options options("model 'mine'", declared, {});
  EXPECT_THAT(failure_of([&] { (void)options.whole("depth"); }, ExitCode::configuration),
              HasSubstr("model 'mine' reads its option 'depth', which is not declared"));
  EXPECT_THAT(failure_of([&] { (void)options.whole("start"); }, ExitCode::configuration),
              HasSubstr("as a whole number: declare it as one"));
}

using Toys = Choices<int(int first, const Options& options)>;

TEST(Choices, TheUsersRowPrecedesBuiltInOnes) {
  const auto sum = [](int first, const Options& options) {
    return first + static_cast<int>(options.whole("n"));
  };
  const Toys built_in{{"sum", sum, "adds", {whole_option("n", 1, 0, 9, "")}},
                      {"zero", [](int, const Options&) { return 0; }}};
  const Toys own{{"zero", [](int, const Options&) { return -1; }}};
  EXPECT_EQ(make_choice("toy", "sum", {{"n", "4"}}, own, built_in, 10), 14);
  EXPECT_EQ(make_choice("toy", "zero", {}, own, built_in, 10), -1);
  EXPECT_EQ(make_choice("toy", "zero", {}, {}, built_in, 10), 0);
  EXPECT_EQ(failure_of([&] { make_choice("toy", "sam", {}, own, built_in, 1); }, ExitCode::configuration),
            "there is no toy 'sam'; did you mean \"sum\"? (valid: zero, sum, zero)");
}

TEST(Choices, ExceptionsOfUserCodeNameTheirOrigin) {
  const auto thrown = [](const std::function<void()>& work, ExitCode code) {
    return failure_of([&] { in_name_of("model 'mine'", work); }, code);
  };
  EXPECT_EQ(thrown([] { (void)std::stoull("abc"); }, ExitCode::failed),
            "model 'mine': it threw an exception: stoull");
  EXPECT_THAT(thrown([] { throw std::bad_alloc(); }, ExitCode::failed),
              HasSubstr("model 'mine': not enough memory"));
  EXPECT_THAT(thrown([] { throw 7; }, ExitCode::failed), HasSubstr("not a std::exception"));
  EXPECT_EQ(thrown([] { throw Failure(ExitCode::io, "f: no such file"); }, ExitCode::io),
            "model 'mine': f: no such file");
  EXPECT_EQ(thrown([] { throw Failure(ExitCode::io, "model 'mine': damaged"); }, ExitCode::io),
            "model 'mine': damaged")
      << "the name appears once";
}

}  // namespace
}  // namespace steelyard::options_test
