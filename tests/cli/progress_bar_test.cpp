#include "cli/progress_bar.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace steelyard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ProgressView a_view() {
  ProgressView v;
  v.epoch = 2;
  v.epochs = 10;
  v.round = 240;
  v.loss = 0.43214;
  v.accuracy = 0.8612;
  v.samples_per_second = 11480.4;
  v.percent_of_ideal = 92.4;
  v.shares = {300, 140, 72};
  v.done = 0.25;
  v.seconds_left = 62;
  return v;
}

Time at(long ms) { return Time{milliseconds(ms)}; }
long lines_in(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(ProgressBar, WideEnoughForEverything) {
  EXPECT_EQ(progress_line(a_view(), {true, false, 200}),
            "[###.........]  epoch 3/10  round 240  loss 0.4321  accuracy 86.12%  11480/s  300+140+72  92% "
            "of ideal  "
            "1:02 left");
}

TEST(ProgressBar, NarrowLinesLoseWhatMattersLeast) {
  EXPECT_EQ(progress_line(a_view(), {true, false, 99}),
            "epoch 3/10  round 240  loss 0.4321  accuracy 86.12%  11480/s  92% of ideal  1:02 left");
  EXPECT_EQ(progress_line(a_view(), {true, false, 41}), "epoch 3/10  loss 0.4321  accuracy 86.12%");
  EXPECT_EQ(progress_line(a_view(), {true, false, 5}), "epoc");
  for (unsigned width = 1; width < 150; ++width) {
    EXPECT_LT(progress_line(a_view(), {true, false, width}).size(), width);
  }
}

TEST(ProgressBar, ColourTakesNoColumns) {
  const std::string plain = progress_line(a_view(), {true, false, 130});
  std::string colored = progress_line(a_view(), {true, true, 130});
  EXPECT_THAT(colored, HasSubstr("\033[32m[###.........]\033[0m  epoch"));
  for (const char* code : {"\033[32m", "\033[0m"})
    colored.erase(colored.find(code), std::string(code).size());
  EXPECT_EQ(colored, plain);
}

TEST(ProgressBar, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(plain_line({}), "epoch 1  round 0");
  ProgressView v;
  v.rounds = 50;
  v.round = 7;
  v.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(plain_line(v), "epoch 1  round 7/50  loss not finite");
  EXPECT_EQ(
      plain_line(a_view()),
      "epoch 3/10  round 240  loss 0.4321  accuracy 86.12%  11480/s  300+140+72  92% of ideal  1:02 left");
}

TEST(ProgressBar, Durations) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(754), "12:34");
  EXPECT_EQ(duration_text(3600), "1:00:00");
  EXPECT_EQ(duration_text(10921), "3:02:01");
  EXPECT_EQ(duration_text(-5), "0:00");
  EXPECT_EQ(duration_text(1e30), "99:59:59");
}

TEST(ProgressBar, TheEnvironmentDecidesTheStyle) {
  EXPECT_TRUE(progress_style(true, 80, "xterm", nullptr, nullptr).terminal);
  EXPECT_TRUE(progress_style(true, 80, "xterm", nullptr, nullptr).color);
  EXPECT_TRUE(progress_style(true, 80, "xterm", "", nullptr).color);
  EXPECT_FALSE(progress_style(true, 80, "xterm", "1", nullptr).color);
  EXPECT_FALSE(progress_style(true, 80, "xterm", "1", "1").color);
  EXPECT_FALSE(progress_style(true, 80, "dumb", nullptr, nullptr).terminal);
  EXPECT_FALSE(progress_style(true, 80, nullptr, nullptr, nullptr).terminal);
  EXPECT_FALSE(progress_style(false, 80, "xterm", nullptr, nullptr).color);
  EXPECT_TRUE(progress_style(false, 80, "xterm", nullptr, "1").color);
  EXPECT_FALSE(progress_style(false, 80, "xterm", nullptr, "0").color);
  EXPECT_EQ(progress_style(true, 123, "xterm", nullptr, nullptr).width, 123U);
}

TEST(ProgressBar, OnATerminalOneLineIsDrawnAgain) {
  std::ostringstream out;
  ProgressBar bar(out, {true, false, 30});
  bar.show(a_view(), at(0));
  EXPECT_EQ(out.str(), "\repoch 3/10  loss 0.4321\033[K");
  ProgressView later = a_view();
  later.loss = 0.4;
  bar.show(later, at(50));  // too early for another frame
  EXPECT_EQ(out.str(), "\repoch 3/10  loss 0.4321\033[K");
  bar.note("worker b is lost");
  EXPECT_EQ(out.str(),
            "\repoch 3/10  loss 0.4321\033[K\r\033[Kworker b is lost\n\repoch 3/10  loss 0.4000\033[K");
  bar.show(later, at(150));
  bar.finish();
  bar.finish();
  EXPECT_EQ(lines_in(out.str()), 2);
  EXPECT_EQ(out.str().back(), '\n');
}

TEST(ProgressBar, OnAPipeLinesComeNowAndThen) {
  std::ostringstream out;
  ProgressBar bar(out, {false, false, 30});
  ProgressView v = a_view();
  for (long ms = 0; ms < 12'000; ms += 10) bar.show(v, at(ms));  // at 0, 5 and 10 s
  EXPECT_EQ(lines_in(out.str()), 3);
  EXPECT_THAT(out.str(), AllOf(Not(HasSubstr("\r")), Not(HasSubstr("\033"))));

  v.epoch = 3;
  bar.show(v, at(12'000));  // a new epoch
  EXPECT_EQ(lines_in(out.str()), 4);
  EXPECT_THAT(out.str(), HasSubstr("epoch 4/10"));
  v.epoch = 4;
  bar.show(v, at(12'100));  // too short a one
  EXPECT_EQ(lines_in(out.str()), 4);
  bar.note("saved");
  EXPECT_EQ(lines_in(out.str()), 5);
  bar.finish();  // the last view is told in any case
  EXPECT_EQ(lines_in(out.str()), 6);
  EXPECT_THAT(out.str(), HasSubstr("epoch 5/10"));
  bar.finish();
  EXPECT_EQ(lines_in(out.str()), 6);
}

TEST(ProgressBar, NothingShownNothingLeft) {
  std::ostringstream out;
  ProgressBar bar(out, {true, false, 80});
  bar.finish();
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace steelyard
