// fuzz_run TARGET INPUTS SEED: reads so many mutated inputs, those of the seeds from SEED on, and says how
// fast. On a crash, an exception or ten seconds for one input it says which seed that was. Without words: the
// targets.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "core/time.h"
#include "tests/fuzz/targets.h"

namespace {

using namespace steelyard;

constexpr unsigned longest = 10;                 // seconds an input
constexpr rlim_t most_memory = rlim_t{4} << 30;  // bytes, where no sanitizer needs more

const char* target_name = "";
volatile unsigned long long seed_now = 0;

void found() {
  std::fprintf(stderr, "\nfinding: script/fuzz %s --inputs 1 --seed %llu\n", target_name, seed_now);
}
extern "C" void on_signal(int) {
  found();
  ::_exit(1);
}

int run(const fuzz::Target& target, std::uint64_t inputs, std::uint64_t seed) {
  const std::vector<fuzz::Bytes> corpus = target.corpus();
  std::uint64_t believed = 0;
  const Time begin = steady_now();
  for (std::uint64_t i = 0; i < inputs; ++i) {
    seed_now = seed + i;
    ::alarm(longest);
    believed += target.read(fuzz::mutated(corpus, seed + i)) ? 1 : 0;
  }
  const double took = seconds(steady_now() - begin);
  std::printf("%-20s %9llu inputs, %5.1f %% believed, %8.0f inputs/s\n", target.name.c_str(),
              static_cast<unsigned long long>(inputs),
              100.0 * static_cast<double>(believed) / static_cast<double>(inputs),
              static_cast<double>(inputs) / took);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    for (const auto& target : fuzz::targets()) std::puts(target.name.c_str());
    return count == 1 ? 0 : 2;
  }
#ifndef __SANITIZE_ADDRESS__
  const rlimit limit{most_memory, most_memory};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
  for (const int it : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) std::signal(it, on_signal);
  target_name = words[1];
  for (const auto& target : fuzz::targets()) {
    if (target.name != words[1]) continue;
    try {
      return run(target, std::strtoull(words[2], nullptr, 10), std::strtoull(words[3], nullptr, 10));
    } catch (const std::exception& it) {
      std::fprintf(stderr, "%s\n", it.what());
      found();
      return 1;
    }
  }
  return 2;
}
