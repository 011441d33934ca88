#include "app/report/progress_bar.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string_view>

#include "app/report/terminal_text.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr Duration between_frames = std::chrono::milliseconds(100);
constexpr Duration between_lines = std::chrono::seconds(5);
constexpr Duration between_epoch_lines = std::chrono::seconds(1);  // epochs may be very short
constexpr unsigned bar_width = 12;

enum class Shares { named, listed, brief, none };  // brief: the list or the range, whichever is shorter

// The parts of a view that a line shows.
struct BarLayout {
  bool bar, round;
  int loss_digits, accuracy_digits;  // -1: left out
  bool whole_words;                  // accuracy and 347368 instead of acc and 347k
  bool speed;
  Shares shares;
  bool ideal, left;
};

// Sorted from wide to narrow; the first one that fits is used. Progress, loss, speed and shares matter
// most, so they stay longest.
constexpr BarLayout layouts[] = {
    {true, true, 4, 2, true, true, Shares::named, true, true},
    {true, true, 4, 2, true, true, Shares::listed, true, true},
    {false, true, 4, 2, true, true, Shares::listed, true, true},
    {false, false, 4, 2, true, true, Shares::listed, true, true},
    {false, false, 3, 1, false, true, Shares::listed, true, true},
    {false, false, 4, 2, true, true, Shares::brief, true, true},
    {false, false, 3, 1, false, true, Shares::brief, true, true},
    {false, false, 3, 1, false, true, Shares::brief, false, true},
    {false, false, 2, 0, false, true, Shares::brief, false, true},
    {false, false, -1, 0, false, true, Shares::brief, false, true},
    {false, false, 2, 0, false, true, Shares::none, false, true},
    {false, false, 2, 0, false, false, Shares::none, false, true},
    {false, false, 2, 0, false, false, Shares::none, false, false},
    {false, false, 2, -1, false, false, Shares::none, false, false},
    {false, false, -1, -1, false, false, Shares::none, false, false},
};
constexpr std::size_t listed_in_a_log = 16;  // shares

std::string of_total(const char* what, std::uint64_t number, std::uint64_t total) {
  return std::string(what) + " " + std::to_string(number) + (total > 0 ? "/" + std::to_string(total) : "");
}

// ASCII, since not every terminal and font has block characters.
std::string bar(double done) {
  const auto filled = static_cast<unsigned>(std::clamp(done, 0.0, 1.0) * bar_width);
  return "[" + std::string(filled, '#') + std::string(bar_width - filled, '.') + "]";
}

std::string speed_text(double samples_per_second, bool whole) {
  const bool thousands = !whole && samples_per_second >= 99'999.5;
  return fixed(samples_per_second / (thousands ? 1000 : 1), 0) + (thousands ? "k" : "") + " samples/s";
}

std::string shares_text(const std::vector<std::uint64_t>& shares, Shares how) {
  if (shares.empty() || how == Shares::none) return "";
  std::string list;
  for (std::size_t i = 0; i < shares.size(); ++i) list += (i == 0 ? "" : "+") + std::to_string(shares[i]);
  if (how == Shares::named) return "shares " + list;
  if (how == Shares::listed) return list;
  const auto [least, most] = std::ranges::minmax(shares);
  const std::string range = std::to_string(shares.size()) + " workers " + std::to_string(least) +
                            (least == most ? "" : "-" + std::to_string(most));
  return range.size() < list.size() ? range : list;
}

std::string loss_text(double loss, int digits) {
  if (!std::isfinite(loss)) return "loss not finite";
  return loss >= 0 ? "loss " + fixed(loss, digits) : "";
}

std::string line_of(const ProgressView& v, const BarLayout& layout) {
  std::string line;
  const auto add = [&](const std::string& piece) {
    if (!piece.empty()) line += (line.empty() ? "" : "  ") + piece;
  };
  if (layout.bar && v.done >= 0) add(bar(v.done));
  add(of_total("epoch", v.epochs > 0 ? std::min(v.epoch + 1, v.epochs) : v.epoch + 1, v.epochs));
  if (layout.round) add(of_total("round", v.round, v.rounds));
  if (layout.loss_digits >= 0) add(loss_text(v.loss, layout.loss_digits));
  if (layout.accuracy_digits >= 0 && v.accuracy >= 0) {
    add((layout.whole_words ? "accuracy " : "acc ") + fixed(100 * v.accuracy, layout.accuracy_digits) + "%");
  } else if (layout.accuracy_digits >= 0 && v.error.known()) {
    add(v.error.name + " " + (layout.whole_words ? v.error.text() : printed("%.3g", v.error.value)));
  } else if (layout.accuracy_digits >= 0 && std::isfinite(v.test_loss)) {
    add("test loss " + fixed(v.test_loss, layout.accuracy_digits + 2));
  }
  if (layout.speed && v.samples_per_second >= 0) add(speed_text(v.samples_per_second, layout.whole_words));
  add(shares_text(v.shares, layout.shares));
  if (layout.ideal && v.percent_of_ideal >= 0) add(fixed(v.percent_of_ideal, 0) + "% of ideal");
  if (layout.left && v.seconds_left >= 0) add(duration_text(v.seconds_left) + " left");
  return line;
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
  if (whole < 3600) return printed("%u:%02u", whole / 60, whole % 60);
  return printed("%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
}

// Shorter than the width: some terminals wrap a full line. All pieces are ASCII, so bytes are columns.
std::string progress_line(const ProgressView& view, const ProgressStyle& style) {
  std::string line;
  for (const BarLayout& layout : layouts) {
    line = line_of(view, layout);
    if (line.size() < style.width) break;
  }
  if (line.size() >= style.width) line.resize(style.width > 0 ? style.width - 1 : 0);
  // Colour last: its codes take no columns.
  if (style.color && line.starts_with('[')) {
    line.insert(line.find(']') + 1, "\033[0m");
    line.insert(0, "\033[32m");
  }
  return line;
}

std::string plain_line(const ProgressView& view) {
  BarLayout layout = layouts[0];
  layout.bar = false;
  if (view.shares.size() > listed_in_a_log) layout.shares = Shares::brief;
  return line_of(view, layout);
}

// A log gets a line for each epoch, unless epochs are very short.
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
    if (style_.file >= 0) style_.width = terminal_width(style_.file);
    out_ << '\r' << progress_line(view_, style_) << "\033[K" << std::flush;
    on_line_ = true;
  } else {
    out_ << plain_line(view_) << std::endl;
  }
  pending_ = false;
}

// The note replaces the progress line, which is drawn again below it.
void ProgressBar::note(const std::string& text) {
  if (on_line_) out_ << "\r\033[K";
  if (style_.file >= 0) style_.width = terminal_width(style_.file);
  out_ << (style_.terminal ? wrapped(shown_line(text), style_.width, 2) : shown_line(text)) << std::endl;
  if (on_line_) draw();
}

void ProgressBar::finish() {
  if (pending_) draw();
  if (on_line_) out_ << std::endl;
  on_line_ = false;
}

}  // namespace steelyard
