// fuzz_run TARGET inputs|seconds N SEED FILE: reads N mutated inputs, or for N seconds, with the seeds from
// SEED on, and reports the rate. On a crash, an exception or an input that takes ten seconds, it writes that
// input to FILE and reports how to read it again: fuzz_run TARGET file FILE. Without arguments it lists the
// targets.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string_view>

#include "core/time.h"
#include "tests/fuzz/targets.h"

namespace {

using namespace steelyard;

constexpr unsigned longest = 10;                 // seconds per input
constexpr rlim_t most_memory = rlim_t{4} << 30;  // bytes; not limited under sanitizers, which need more

// Globals, since a signal handler reports findings, too.
const char* target_name = "";
const char* finding_file = nullptr;  // null: the input was read from a file
fuzz::Bytes input_now;

void found() {
  if (finding_file == nullptr) return;
  const int file = ::open(finding_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool kept = file >= 0 && ::write(file, input_now.data(), input_now.size()) ==
                                     static_cast<ssize_t>(input_now.size());
  std::fprintf(stderr, "\nfinding: %s%s\nagain:   script/fuzz %s --file %s\n", finding_file,
               kept ? "" : " (could not be written)", target_name, finding_file);
}
extern "C" void on_signal(int) {
  found();
  ::_exit(1);
}

struct Amount {
  bool of_seconds = false;
  std::uint64_t number = 0;
};

void report(std::uint64_t inputs, std::uint64_t accepted, double took, char end) {
  const double all = static_cast<double>(inputs);
  std::printf("%-20s %9llu inputs, %5.1f %% accepted, %8.0f inputs/s%c", target_name,
              static_cast<unsigned long long>(inputs), 100 * static_cast<double>(accepted) / all, all / took,
              end);
  std::fflush(stdout);
}

void run(const fuzz::Target& target, const Amount& amount, std::uint64_t seed) {
  const std::vector<fuzz::Bytes> corpus = target.corpus();
  const bool shows = ::isatty(STDOUT_FILENO) == 1;
  std::uint64_t accepted = 0, inputs = 0;
  const Time begin = steady_now();
  double took = 0, shown = 0;
  do {
    input_now = fuzz::mutated(corpus, seed + inputs++);
    ::alarm(longest);
    accepted += target.read(input_now) ? 1 : 0;
    took = seconds(steady_now() - begin);
    if (shows && took >= shown + 1) {
      report(inputs, accepted, took, '\r');
      shown = took;
    }
  } while (amount.of_seconds ? took < static_cast<double>(amount.number) : inputs < amount.number);
  ::alarm(0);
  report(inputs, accepted, took, '\n');
}

void read_file(const fuzz::Target& target, const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const char c : text) input_now.push_back(static_cast<std::byte>(c));
  ::alarm(longest);
  std::puts(target.read(input_now) ? "accepted" : "refused");
}

}  // namespace

int main(int count, char** words) {
  const bool of_file = count == 4 && std::string_view(words[2]) == "file";
  if (count != 6 && !of_file) {
    for (const auto& target : fuzz::targets()) std::puts(target.name.c_str());
    return count == 1 ? 0 : 2;
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)  // clang is only used with sanitizers
  constexpr std::array signals{SIGABRT, SIGALRM};        // the sanitizer reports the others, and aborts
#else
  constexpr std::array signals{SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  const rlimit limit{most_memory, most_memory};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
  for (const int it : signals) std::signal(it, on_signal);
  target_name = words[1];
  if (!of_file) finding_file = words[5];
  for (const auto& target : fuzz::targets()) {
    if (target.name != words[1]) continue;
    try {
      if (of_file) {
        read_file(target, words[3]);
      } else {
        run(target, {std::string_view(words[2]) == "seconds", std::strtoull(words[3], nullptr, 10)},
            std::strtoull(words[4], nullptr, 10));
      }
      return 0;
    } catch (const std::exception& it) {
      std::fprintf(stderr, "%s\n", it.what());
      found();
      return 1;
    }
  }
  return 2;
}
