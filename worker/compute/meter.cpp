#include "worker/compute/meter.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "core/text.h"

namespace steelyard {
namespace {

// The next word of `text`, which loses it.
std::string_view next_word(std::string_view& text) {
  constexpr std::string_view blanks = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

// The next word, if it is a whole number and nothing else.
std::optional<std::uint64_t> next_number(std::string_view& text) {
  return number_in<std::uint64_t>(next_word(text));
}

// Empty if there is no such file; files in /proc have no size before they are read.
std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::optional<MachineTicks> parse_machine_ticks(std::string_view stat) {
  // cpu  user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice, too.
  constexpr int columns = 8, nice = 1, idle = 3, waiting = 4;
  std::string_view line = stat.substr(0, stat.find('\n'));
  if (next_word(line) != "cpu") return std::nullopt;
  MachineTicks ticks;
  for (int column = 0; column < columns; ++column) {
    const std::optional<std::uint64_t> number = next_number(line);
    if (!number) return std::nullopt;
    ticks.all += *number;
    if (column == idle || column == waiting) ticks.idle += *number;
    if (column == nice) ticks.nice = *number;
  }
  return ticks;
}

std::optional<ProcessTicks> parse_process_ticks(std::string_view process_stat) {
  // pid (name) state ...: the name may contain anything, so counting begins behind its last bracket.
  constexpr int words_before_times = 11;
  const std::size_t bracket = process_stat.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  std::string_view rest = process_stat.substr(bracket + 1);
  for (int i = 0; i < words_before_times; ++i) next_word(rest);
  const std::optional<std::uint64_t> user = next_number(rest), system = next_number(rest);
  if (!user || !system) return std::nullopt;
  return ProcessTicks{*user + *system, *system};
}

std::optional<double> parse_available_memory(std::string_view meminfo) {
  constexpr std::string_view key = "MemAvailable:";
  const std::size_t place = meminfo.find(key);
  if (place == std::string_view::npos) return std::nullopt;
  std::string_view rest = meminfo.substr(place + key.size());
  const std::optional<std::uint64_t> number = next_number(rest);
  if (!number || next_word(rest) != "kB") return std::nullopt;
  return static_cast<double>(*number) / 1024;
}

Meter::Meter(std::filesystem::path proc) : proc_(std::move(proc)), last_(ticks()) {}

std::optional<Meter::Ticks> Meter::ticks() const {
  const std::optional<MachineTicks> machine = parse_machine_ticks(contents(proc_ / "stat"));
  const std::optional<ProcessTicks> ours = parse_process_ticks(contents(proc_ / "self" / "stat"));
  if (!machine || !ours) return std::nullopt;
  return Ticks{*machine, *ours};
}

Reading Meter::measure() {
  // Without a beginning or an end there is no difference; with no tick between them, no new one.
  const std::optional<Ticks> now = ticks();
  if (!now || !last_) {
    cpu_ = left_ = -1;
    last_ = now;
  } else if (now->machine.all > last_->machine.all) {
    const auto grown = [](std::uint64_t before, std::uint64_t after) {
      return after > before ? static_cast<double>(after - before) : 0;  // idle has been seen to go back
    };
    const double all = grown(last_->machine.all, now->machine.all);
    const double idle = grown(last_->machine.idle, now->machine.idle);
    const double nice = grown(last_->machine.nice, now->machine.nice);
    cpu_ = std::min(1.0, (idle + grown(last_->ours.all, now->ours.all)) / all);
    left_ = std::min(1.0, (idle + nice + grown(last_->ours.system, now->ours.system)) / all);
    last_ = now;
  }
  const std::optional<double> memory = parse_available_memory(contents(proc_ / "meminfo"));
  return {.cpu = cpu_, .memory = memory.value_or(-1), .left = left_};
}

}  // namespace steelyard
