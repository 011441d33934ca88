// What a person sees of a running job: one line that is drawn again on a terminal, a line now and then
// anywhere else (a pipe, a log, TERM=dumb).
//
// The line has a layout for each width: first words and digits go, then the bar and the round, then a list of
// many shares becomes their range. With 80 columns and any number of workers it still tells epoch, loss,
// accuracy, speed, shares and time left.
//
// The functions make text from values; ProgressBar writes it, and is told what time it is. One thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace steelyard {

// What is negative is not known, and is left out.
struct ProgressView {
  std::uint64_t epoch = 0, epochs = 0;  // the one that runs, from 0; how many: 0 if epochs are no limit
  std::uint64_t round = 0, rounds = 0;  // likewise
  double done = -1;                     // share of the training that is over, 0..1
  double loss = -1, accuracy = -1;
  double samples_per_second = -1;
  double percent_of_ideal = -1;
  double seconds_left = -1;
  std::vector<std::uint64_t> shares;  // in the order of the workers' names
};

struct ProgressStyle {
  bool terminal = false;
  bool color = false;
  unsigned width = 80;  // columns
  int file = -1;        // of the terminal, whose width is looked up anew for each frame; -1: it stays
};
// Arguments: whether the output is a terminal, its width, and the environment's TERM, NO_COLOR and
// CLICOLOR_FORCE (null if not set).
ProgressStyle progress_style(bool terminal, unsigned width, const char* term, const char* no_color,
                             const char* color_force);
// Of the terminal behind a file descriptor; 80 if it is none.
unsigned terminal_width(int file);

std::string duration_text(double seconds);  // "0:07", "12:34", "3:02:01"
std::string progress_line(const ProgressView& view, const ProgressStyle& style);  // shorter than the width
std::string plain_line(const ProgressView& view);                                 // for a log, of any width

class ProgressBar {
 public:
  ProgressBar(std::ostream& out, ProgressStyle style) : out_(out), style_(style) {}

  void show(const ProgressView& view, Time now);  // draws if it is time to
  void note(const std::string& text);             // a line of its own that stays; may be any bytes
  void finish();  // draws the last view if that was left out, and ends the line

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
