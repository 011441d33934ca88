#include "app/report/progress_bar.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace steelyard::progress_bar_test {
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

TEST(ProgressBar, AWideTerminalShowsEverything) {
  EXPECT_EQ(progress_line(a_view(), {true, false, 200}),
            "[###.........]  epoch 3/10  round 240  loss 0.4321  accuracy 86.12%  11480 samples/s  "
            "shares 300+140+72  92% of ideal  1:02 left");
}

TEST(ProgressBar, EachWidthHasItsLayout) {
  EXPECT_EQ(progress_line(a_view(), {true, false, 120}),
            "epoch 3/10  round 240  loss 0.4321  accuracy 86.12%  11480 samples/s  300+140+72  92% of ideal  "
            "1:02 left");
  EXPECT_EQ(progress_line(a_view(), {true, false, 90}),
            "epoch 3/10  loss 0.432  acc 86.1%  11480 samples/s  300+140+72  92% of ideal  1:02 left");
  EXPECT_EQ(progress_line(a_view(), {true, false, 80}),
            "epoch 3/10  loss 0.432  acc 86.1%  11480 samples/s  300+140+72  1:02 left");
  EXPECT_EQ(progress_line(a_view(), {true, false, 65}),
            "epoch 3/10  acc 86%  11480 samples/s  300+140+72  1:02 left");
  EXPECT_EQ(progress_line(a_view(), {true, false, 59}),
            "epoch 3/10  loss 0.43  acc 86%  11480 samples/s  1:02 left");
  EXPECT_EQ(progress_line(a_view(), {true, false, 42}), "epoch 3/10  loss 0.43  acc 86%  1:02 left");
  EXPECT_EQ(progress_line(a_view(), {true, false, 31}), "epoch 3/10  loss 0.43  acc 86%");
  EXPECT_EQ(progress_line(a_view(), {true, false, 5}), "epoc");
  for (unsigned width = 1; width < 200; ++width) {
    EXPECT_LT(progress_line(a_view(), {true, false, width}).size(), width);
  }
}

// A model that predicts one number has an error.
TEST(ProgressBar, AnErrorStandsInPlaceOfTheAccuracy) {
  ProgressView v = a_view();
  v.accuracy = -1;
  v.test_loss = 0.0281;
  EXPECT_THAT(plain_line(v), HasSubstr("  loss 0.4321  test loss 0.0281  11480"));
  v.error = {"RMSE", 38129.627};
  EXPECT_THAT(plain_line(v), HasSubstr("  loss 0.4321  RMSE 38129.6  11480"));
  EXPECT_THAT(progress_line(v, {true, false, 80}), HasSubstr("  loss 0.432  RMSE 3.81e+04  11480"));
}

// Even late in a long run with many fast workers.
TEST(ProgressBar, AnOrdinaryTerminalShowsSharesAndTimeLeft) {
  ProgressView v = a_view();
  v.shares = {43, 43, 43, 43, 43, 43, 43, 43, 42, 42, 42, 42};
  EXPECT_EQ(progress_line(v, {true, false, 120}),
            "epoch 3/10  loss 0.4321  accuracy 86.12%  11480 samples/s  "
            "43+43+43+43+43+43+43+43+42+42+42+42  92% of ideal  1:02 left");
  EXPECT_EQ(progress_line(v, {true, false, 80}),
            "epoch 3/10  loss 0.432  acc 86.1%  11480 samples/s  12 workers 42-43  1:02 left");
  v.epochs = 120;
  v.epoch = 99;
  v.samples_per_second = 347368;
  v.seconds_left = 10921;
  for (const unsigned width : {80U, 100U, 120U}) {
    for (const std::uint64_t workers : {1, 2, 12, 100, 1000}) {
      v.shares.assign(workers, 8);
      v.shares.back() = 118;
      const std::string line = progress_line(v, {true, false, width});
      EXPECT_THAT(line, AllOf(HasSubstr("118"), HasSubstr("3:02:01 left"), HasSubstr("samples/s"))) << line;
    }
  }
  v.shares.assign(30, 8);
  EXPECT_THAT(progress_line(v, {true, false, 80}), HasSubstr("  30 workers 8  "));
}

TEST(ProgressBar, ColourCodesTakeNoColumns) {
  const std::string plain = progress_line(a_view(), {true, false, 150});
  std::string colored = progress_line(a_view(), {true, true, 150});
  EXPECT_THAT(colored, HasSubstr("\033[32m[###.........]\033[0m  epoch"));
  for (const char* code : {"\033[32m", "\033[0m"})
    colored.erase(colored.find(code), std::string(code).size());
  EXPECT_EQ(colored, plain);
}

TEST(ProgressBar, UnknownValuesAreOmitted) {
  EXPECT_EQ(plain_line({}), "epoch 1  round 0");
  ProgressView v;
  v.rounds = 50;
  v.round = 7;
  v.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(plain_line(v), "epoch 1  round 7/50  loss not finite");
  EXPECT_EQ(plain_line(a_view()),
            "epoch 3/10  round 240  loss 0.4321  accuracy 86.12%  11480 samples/s  shares 300+140+72  92% of "
            "ideal  1:02 left");
  v = a_view();
  v.shares.assign(1000, 2);
  v.samples_per_second = 347368;
  EXPECT_THAT(plain_line(v), HasSubstr("  347368 samples/s  1000 workers 2  "));
}

TEST(ProgressBar, DurationsAreClockTimes) {
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

TEST(ProgressBar, OnATerminalOneLineIsRedrawn) {
  std::ostringstream out;
  ProgressBar bar(out, {true, false, 25});
  bar.show(a_view(), at(0));
  EXPECT_EQ(out.str(), "\repoch 3/10  loss 0.43\033[K");
  ProgressView later = a_view();
  later.loss = 0.4;
  bar.show(later, at(50));  // too early for another frame
  EXPECT_EQ(out.str(), "\repoch 3/10  loss 0.43\033[K");
  bar.note("worker b is lost");
  EXPECT_EQ(out.str(),
            "\repoch 3/10  loss 0.43\033[K\r\033[Kworker b is lost\n\repoch 3/10  loss 0.40\033[K");
  bar.show(later, at(150));
  bar.finish();
  bar.finish();
  EXPECT_EQ(lines_in(out.str()), 2);
  EXPECT_EQ(out.str().back(), '\n');
}

TEST(ProgressBar, OnAPipeALineIsPrintedEveryFiveSeconds) {
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
  bar.show(v, at(12'100));  // an epoch this short gets no line
  EXPECT_EQ(lines_in(out.str()), 4);
  bar.note("saved");
  EXPECT_EQ(lines_in(out.str()), 5);
  bar.finish();  // the last view is always shown
  EXPECT_EQ(lines_in(out.str()), 6);
  EXPECT_THAT(out.str(), HasSubstr("epoch 5/10"));
  bar.finish();
  EXPECT_EQ(lines_in(out.str()), 6);
}

// A note may hold a name or a reason from another process.
TEST(ProgressBar, ControlCharactersInNotesAreEscaped) {
  std::ostringstream out;
  ProgressBar bar(out, {true, false, 80});
  bar.note(
      "worker \033]0;x\a\r is lost\nsteelyard: all is well\xC2\x9B"
      "2J");
  EXPECT_EQ(out.str(), "worker \\x1b]0;x\\x07\\x0d is lost\\nsteelyard: all is well\\x9b2J\n");
  out.str("");
  bar.note(std::string(1'000'000, 'x'));
  EXPECT_LT(out.str().size(), 2100U);
  EXPECT_EQ(lines_in(out.str()), 1);
}

TEST(ProgressBar, LongNotesAreWrappedOnATerminalOnly) {
  const std::string note =
      "waiting for 2 shards and 3 workers at ipc:///tmp/steelyard-sockets-LFZ92r/scheduler";
  std::ostringstream terminal, log;
  ProgressBar(terminal, {true, false, 50}).note(note);
  ProgressBar(log, {false, false, 50}).note(note);
  EXPECT_EQ(terminal.str(),
            "waiting for 2 shards and 3 workers at\n  ipc:///tmp/steelyard-sockets-LFZ92r/scheduler\n");
  EXPECT_EQ(log.str(), note + "\n");
}

TEST(ProgressBar, WithoutAViewNothingIsPrinted) {
  std::ostringstream out;
  ProgressBar bar(out, {true, false, 80});
  bar.finish();
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace steelyard::progress_bar_test
