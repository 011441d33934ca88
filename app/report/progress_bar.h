// Progress of a running job: a line that is redrawn on a terminal, or a line every few seconds elsewhere (a
// pipe, a log, TERM=dumb).
//
// The line has a layout for each width: first words and digits are left out, then the bar and the round, then
// a list of many shares becomes a range. With 80 columns it has epoch, loss, accuracy, speed, shares and time
// left, for any number of workers.
//
// The functions make text from values; ProgressBar writes it, and takes the time as an argument. One thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "app/report/test_error.h"
#include "core/time.h"

namespace steelyard {

// Negative values are unknown and left out.
struct ProgressView {
  std::uint64_t epoch = 0, epochs = 0;  // the current one, from 0; number of epochs, 0: no limit
  std::uint64_t round = 0, rounds = 0;  // likewise
  double done = -1;                     // share of the training that is over, 0..1
  double loss = -1, accuracy = -1;
  double test_loss = NAN;  // shown if there is no accuracy and no error
  TestError error{};
  double samples_per_second = -1;
  double percent_of_ideal = -1;
  double seconds_left = -1;
  std::vector<std::uint64_t> shares;  // in the order of the workers' names
};

struct ProgressStyle {
  bool terminal = false;
  bool color = false;
  unsigned width = 80;  // columns
  int file = -1;        // the terminal; its width is read for each frame; -1: fixed width
};
// Arguments: whether the output is a terminal, its width, and the environment variables TERM, NO_COLOR and
// CLICOLOR_FORCE (null if unset).
ProgressStyle progress_style(bool terminal, unsigned width, const char* term, const char* no_color,
                             const char* color_force);
// Width of the terminal of a file descriptor; 80 if it is not a terminal.
unsigned terminal_width(int file);

std::string duration_text(double seconds);  // "0:07", "12:34", "3:02:01"
std::string progress_line(const ProgressView& view, const ProgressStyle& style);  // shorter than the width
std::string plain_line(const ProgressView& view);                                 // for a log, of any width

class ProgressBar {
 public:
  ProgressBar(std::ostream& out, ProgressStyle style) : out_(out), style_(style) {}

  void show(const ProgressView& view, Time now);  // draws if it is time to
  void note(const std::string& text);             // a line of its own; may be any bytes
  void finish();                                  // draws the last view if it was skipped, and ends the line

 private:
  [[nodiscard]] bool due(const ProgressView& view, Time now) const;
  void draw();

  std::ostream& out_;
  ProgressStyle style_;
  ProgressView view_;
  bool pending_ = false;  // view_ was not drawn
  bool on_line_ = false;  // the cursor is behind a drawn line
  std::optional<Time> drawn_;
  std::uint64_t drawn_epoch_ = 0;
};

}  // namespace steelyard
