#include "bench/transport/exchange.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <future>

#include "bench/hardware.h"
#include "bench/pairs.h"
#include "core/random.h"

namespace steelyard::bench {
namespace {

constexpr std::uint64_t warm_up = 4, trial = 4;  // rounds

struct Meeting {
  explicit Meeting(unsigned workers) : gate(workers) {}
  std::barrier<> gate;
  std::atomic<std::uint64_t> rounds{0};  // to be timed; the first worker decides
};

double work(unsigned worker, Duration duration, const MakeParty& make, Meeting& meeting) {
  pin(1 + worker);
  const std::unique_ptr<Party> party = make(worker);
  meeting.gate.arrive_and_wait();
  for (std::uint64_t i = 0; i < warm_up; ++i) {
    party->round();
    party->check();
  }
  Time start = steady_now();
  for (std::uint64_t i = 0; i < trial; ++i) party->round();
  if (worker == 0) {
    const double once = seconds(steady_now() - start) / trial;
    meeting.rounds = std::max<std::uint64_t>(2, static_cast<std::uint64_t>(seconds(duration) / once));
  }
  meeting.gate.arrive_and_wait();
  start = steady_now();
  for (std::uint64_t i = 0; i < meeting.rounds; ++i) party->round();
  const double taken = seconds(steady_now() - start);
  party->check();
  meeting.gate.arrive_and_wait();  // no worker disconnects before all have finished
  return taken / static_cast<double>(meeting.rounds);
}

}  // namespace

double time_rounds(const Exchange& exchange, Duration duration, const MakeParty& make) {
  Meeting meeting(exchange.workers);
  std::vector<std::future<double>> parts;
  for (unsigned worker = 0; worker < exchange.workers; ++worker) {
    parts.push_back(std::async(std::launch::async, [&, worker] {
      try {
        return work(worker, duration, make, meeting);
      } catch (...) {
        meeting.gate.arrive_and_drop();  // the others must not wait for this one
        throw;
      }
    }));
  }
  double longest = 0;
  for (auto& part : parts) longest = std::max(longest, part.get());
  return longest;
}

std::shared_ptr<FloatBuffer> pattern(std::uint64_t floats, Memory memory) {
  auto values = std::make_shared<FloatBuffer>(floats, memory);
  for (std::uint64_t i = 0; i < floats; ++i) {
    values->data()[i] = static_cast<float>(static_cast<int>(hash(i) % 17) - 8);
  }
  return values;
}

}  // namespace steelyard::bench
