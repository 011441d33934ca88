#include "worker/compute/meter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/cores.h"
#include "core/text.h"

namespace steelyard {
namespace {

// Removes the next word from `text` and returns it.
std::string_view next_word(std::string_view& text) {
  constexpr std::string_view blanks = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

// The next word, if it is a whole number.
std::optional<std::uint64_t> next_number(std::string_view& text) {
  return number_in<std::uint64_t>(next_word(text));
}

unsigned online() { return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

// Parses a line of /proc/stat that begins with this word.
std::optional<MachineTicks> ticks_of(std::string_view line, std::string_view word) {
  // cpu  user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice, too.
  constexpr int columns = 8, nice = 1, idle = 3, waiting = 4;
  if (next_word(line) != word) return std::nullopt;
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

}  // namespace

std::vector<unsigned> bound_to() {
  std::vector<unsigned> processors = allowed_core_numbers();
  if (processors.size() >= online()) processors.clear();
  return processors;
}

std::optional<MachineTicks> parse_machine_ticks(std::string_view stat,
                                                const std::vector<unsigned>& processors) {
  if (processors.empty()) return ticks_of(stat.substr(0, stat.find('\n')), "cpu");
  std::optional<MachineTicks> sum;
  while (!stat.empty()) {
    const std::string_view line = stat.substr(0, stat.find('\n'));
    stat.remove_prefix(std::min(line.size() + 1, stat.size()));
    std::string_view rest = line;
    const std::string_view word = next_word(rest);
    if (!word.starts_with("cpu")) break;
    const auto number = number_in<unsigned>(word.substr(3));
    if (!number || std::ranges::find(processors, *number) == processors.end()) continue;
    const std::optional<MachineTicks> its = ticks_of(line, word);
    if (!its) return std::nullopt;
    const MachineTicks before = sum.value_or(MachineTicks{});
    sum = {before.all + its->all, before.idle + its->idle, before.nice + its->nice};
  }
  return sum;
}

std::optional<ProcessTicks> parse_process_ticks(std::string_view process_stat) {
  // pid (name) state ...: the name may contain anything, so counting begins behind the last bracket.
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

// Such files have no size, and one read() gets all of a file that fits.
std::string_view ProcFile::contents() {
  if (!descriptor_.there()) descriptor_ = Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor_.there()) return {};
  if (buffer_.empty()) buffer_.resize(4096);
  while (true) {
    const ssize_t got = pread(descriptor_.get(), buffer_.data(), buffer_.size(), 0);
    if (got < 0) return {};
    if (static_cast<std::size_t>(got) < buffer_.size())
      return std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
    buffer_.resize(2 * buffer_.size());
  }
}

Meter::Meter(std::filesystem::path proc, std::vector<unsigned> processors)
    : memory_(proc / "meminfo"),
      machine_(proc / "stat"),
      ours_(proc / "self" / "stat"),
      processors_(std::move(processors)),
      last_(counters()) {}

unsigned Meter::cores() const {
  return processors_.empty() ? online() : static_cast<unsigned>(processors_.size());
}

Meter::Counters Meter::counters() {
  Counters now{std::nullopt, parse_available_memory(memory_.contents()).value_or(-1)};
  const std::optional<MachineTicks> machine = parse_machine_ticks(machine_.contents(), processors_);
  const std::optional<ProcessTicks> ours = parse_process_ticks(ours_.contents());
  if (machine && ours) now.ticks = {*machine, *ours};
  return now;
}

Reading Meter::between(const Counters& before, const Counters& after) {
  Reading reading{.cpu = -1, .memory = after.memory, .left = -1};
  if (!before.ticks || !after.ticks || after.ticks->machine.all <= before.ticks->machine.all) return reading;
  const auto grown = [](std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) : 0;  // idle has been observed to decrease
  };
  const MachineTicks &from = before.ticks->machine, &to = after.ticks->machine;
  const ProcessTicks &our_from = before.ticks->ours, &our_to = after.ticks->ours;
  const double all = grown(from.all, to.all), idle = grown(from.idle, to.idle);
  reading.cpu = std::min(1.0, (idle + grown(our_from.all, our_to.all)) / all);
  reading.left =
      std::min(1.0, (idle + grown(from.nice, to.nice) + grown(our_from.system, our_to.system)) / all);
  return reading;
}

Reading Meter::measure() {
  const Counters now = counters();
  const bool same =
      now.ticks && last_.ticks && now.ticks->machine.all <= last_.ticks->machine.all;  // keep the last result
  if (!same) {
    const Reading since = between(last_, now);
    cpu_ = since.cpu, left_ = since.left;
    last_ = now;
  }
  return {.cpu = cpu_, .memory = now.memory, .left = left_};
}

}  // namespace steelyard
