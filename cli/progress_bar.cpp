#include "cli/progress_bar.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <string_view>

namespace steelyard {
namespace {

constexpr Duration between_frames = std::chrono::milliseconds(100);
constexpr Duration between_lines = std::chrono::seconds(5);
constexpr Duration between_epoch_lines = std::chrono::seconds(1);  // epochs may be very short
constexpr unsigned bar_width = 12;

// A piece of the line. When the line is too long, the pieces with the lowest rank go first.
struct Piece {
  int rank;
  std::string text;
};

std::string with_digits(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string of_total(const char* what, std::uint64_t number, std::uint64_t total) {
  return std::string(what) + " " + std::to_string(number) + (total > 0 ? "/" + std::to_string(total) : "");
}

// Plain letters: not every terminal and font has blocks.
std::string bar(double done) {
  const auto filled = static_cast<unsigned>(std::clamp(done, 0.0, 1.0) * bar_width);
  return "[" + std::string(filled, '#') + std::string(bar_width - filled, '.') + "]";
}

std::string shares_text(const std::vector<std::uint64_t>& shares) {
  std::string text;
  for (const std::uint64_t share : shares) text += (text.empty() ? "" : "+") + std::to_string(share);
  return text;
}

// In the order in which they are read; see Piece for the order in which they go.
std::vector<Piece> pieces(const ProgressView& v) {
  const std::uint64_t epoch = v.epochs > 0 ? std::min(v.epoch + 1, v.epochs) : v.epoch + 1;
  std::vector<Piece> all{{9, of_total("epoch", epoch, v.epochs)}, {5, of_total("round", v.round, v.rounds)}};
  if (std::isfinite(v.loss) && v.loss >= 0) all.push_back({8, "loss " + with_digits(v.loss, 4)});
  if (std::isnan(v.loss) || std::isinf(v.loss)) all.push_back({8, "loss not finite"});
  if (v.accuracy >= 0) all.push_back({7, "accuracy " + with_digits(100 * v.accuracy, 2) + "%"});
  if (v.samples_per_second >= 0) all.push_back({6, with_digits(v.samples_per_second, 0) + "/s"});
  if (!v.shares.empty()) all.push_back({1, shares_text(v.shares)});
  if (v.percent_of_ideal >= 0) all.push_back({4, with_digits(v.percent_of_ideal, 0) + "% of ideal"});
  if (v.seconds_left >= 0) all.push_back({3, duration_text(v.seconds_left) + " left"});
  return all;
}

std::string joined(const std::vector<Piece>& all) {
  std::string text;
  for (const Piece& piece : all) text += (text.empty() ? "" : "  ") + piece.text;
  return text;
}

}  // namespace

ProgressStyle progress_style(bool terminal, unsigned width, const char* term, const char* no_color,
                             const char* color_force) {
  const auto is_set = [](const char* value) { return value != nullptr && *value != '\0'; };
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  ProgressStyle style{terminal && !dumb, false, width};
  const bool forced = is_set(color_force) && std::string_view(color_force) != "0";
  style.color = !is_set(no_color) && (style.terminal || forced);
  return style;
}

unsigned terminal_width(int file) {
  winsize size{};
  return ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string duration_text(double seconds) {
  constexpr double longest = 359999;  // 99:59:59
  const auto whole = static_cast<unsigned>(std::clamp(std::round(seconds), 0.0, longest));
  char text[16];
  if (whole < 3600) {
    std::snprintf(text, sizeof text, "%u:%02u", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return text;
}

std::string progress_line(const ProgressView& view, const ProgressStyle& style) {
  std::vector<Piece> all = pieces(view);
  if (view.done >= 0) all.insert(all.begin(), {2, bar(view.done)});
  // A line of the full width would make some terminals go to the next one.
  const auto by_rank = [](const Piece& a, const Piece& b) { return a.rank < b.rank; };
  while (all.size() > 1 && joined(all).size() >= style.width) {
    all.erase(std::min_element(all.begin(), all.end(), by_rank));
  }
  std::string line = joined(all);
  if (line.size() >= style.width) line.resize(style.width > 0 ? style.width - 1 : 0);
  // Colour last: its codes take no columns.
  if (style.color && line.starts_with('[')) {
    line.insert(line.find(']') + 1, "\033[0m");
    line.insert(0, "\033[32m");
  }
  return line;
}

std::string plain_line(const ProgressView& view) { return joined(pieces(view)); }

// People want to see each epoch in a log, but a hundred short ones are no use to anybody.
bool ProgressBar::due(const ProgressView& view, Time now) const {
  if (!drawn_) return true;
  const Duration since = now - *drawn_;
  if (style_.terminal) return since >= between_frames;
  return since >= between_lines || (view.epoch != drawn_epoch_ && since >= between_epoch_lines);
}

void ProgressBar::show(const ProgressView& view, Time now) {
  const bool is_due = due(view, now);
  view_ = view;
  pending_ = true;
  if (!is_due) return;
  draw();
  drawn_ = now;
  drawn_epoch_ = view.epoch;
}

void ProgressBar::draw() {
  if (style_.terminal) {
    out_ << '\r' << progress_line(view_, style_) << "\033[K" << std::flush;
    on_line_ = true;
  } else {
    out_ << plain_line(view_) << std::endl;
  }
  pending_ = false;
}

// The note takes the place of the progress line, which is drawn again below it.
void ProgressBar::note(const std::string& text) {
  if (on_line_) out_ << "\r\033[K";
  out_ << text << std::endl;
  if (on_line_) draw();
}

void ProgressBar::finish() {
  if (pending_) draw();
  if (on_line_) out_ << std::endl;
  on_line_ = false;
}

}  // namespace steelyard
