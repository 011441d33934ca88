// A server's thread alone: the processor time of a Shard for pushes and for steps of the optimizer, without
// a transport. They are `push_ms` and `update_ms` of a scenario (sim/server_clock.h).
#include "bench/transport/server_rates.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "bench/pairs.h"
#include "bench/transport/exchange.h"
#include "core/buffer_pool.h"
#include "core/layout.h"
#include "core/time.h"
#include "nn/optimizer/rule.h"
#include "nn/optimizer/vector.h"
#include "server/shard/shard.h"

namespace steelyard::bench {
namespace {

constexpr NodeId alone{Role::shard, 1};
constexpr Term first_term = 1;
constexpr std::uint64_t positions = 8;  // of one push
constexpr nn::Optimizer momentum{nn::Optimizer::Kind::momentum, 0.5, 0};

double thread_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// A shard with a whole model, and what `pushes` workers send to it in each round.
class LoneServer {
 public:
  LoneServer(std::uint64_t floats, unsigned pushes) : shard_({alone, {}, {}, {}}) {
    Job job;
    append(job.layout, "values", {floats});
    job.layout.slice_size = default_slice_size(floats, 1);
    job.train_samples = job.global_batch = positions * pushes;
    job.optimizer = momentum;
    job.schedule.base = 1;
    slices_ = slices(job.layout);
    deliver(scheduler_node, Welcome{first_term, 0, job});
    for (std::uint32_t slice = 0; slice < slices_.size(); ++slice) {
      for (std::uint32_t slot = 0; slot <= state_slots(job); ++slot) {
        const std::vector<float> zeros(slices_[slice].size());
        deliver({Role::checkpointer, 1}, StateChunk{first_term, 0, slice, slot, 0, Blob::copy_of(zeros)});
      }
    }
    for (unsigned worker = 0; worker < pushes; ++worker) gradients_.push_back(pattern(floats));
  }

  void round() {
    round_of([](std::uint64_t worker, std::span<const float> part, const LoneServer& it) {
      return Blob::of_floats(it.gradients_[worker], part);
    });
  }
  // The same with pushes in memory that was just written. Returns the processor time of the shard.
  double round_of_received() {
    return round_of([](std::uint64_t, std::span<const float> part, LoneServer& it) {
      const std::shared_ptr<FloatBuffer> memory =
          it.arrivals_.try_emplace(part.size(), part.size()).first->second.take();
      std::ranges::copy(part, memory->data());
      return Blob::received(memory, std::as_writable_bytes(memory->span()));
    });
  }
  [[nodiscard]] std::span<const float> gradient_of(std::uint64_t worker) const {
    return std::as_const(*gradients_.at(worker)).span();
  }
  // Whether the parameters are these, to the bit.
  [[nodiscard]] bool holds(std::span<const float> parameters) const {
    return std::ranges::all_of(shard_.slices(), [&](const SliceMemory& slice) {
      const Blob now = slice.current();
      return std::ranges::equal(now.floats(), parameters.subspan(slice.place().begin, slice.place().size()));
    });
  }
  // After the first round every parameter is minus the mean of its gradients.
  void check_first() const {
    for (const SliceMemory& slice : shard_.slices()) {
      const float mean = gradients_[0]->data()[slice.place().begin] / static_cast<float>(positions);
      const float wrong = std::abs(slice.current().floats()[0] + mean);
      expect(slice.version() == 1 && wrong <= 1e-6F * std::abs(mean), "server: a parameter is wrong");
    }
  }

 private:
  // `values(worker, part of its gradient, this)`: the blob of a push. Returns the shard's processor time.
  template <class Values>
  double round_of(Values values) {
    const Interval all{0, positions * gradients_.size()};
    deliver(scheduler_node, BeginRound{first_term, round_, 0, all, all.size(), false, false});
    double taken = 0;
    for (std::uint64_t worker = 0; worker < gradients_.size(); ++worker) {
      const Interval mine{worker * positions, (worker + 1) * positions};
      for (std::uint32_t slice = 0; slice < slices_.size(); ++slice) {
        const Slice& place = slices_[slice];
        Push push{first_term,
                  {.id = 1 + worker, .round = round_, .positions = mine},
                  static_cast<double>(positions),
                  slice,
                  values(worker, gradient_of(worker).subspan(place.begin, place.size()), *this)};
        const double begun = thread_seconds();
        deliver({Role::worker, 1 + worker}, std::move(push));
        taken += thread_seconds() - begun;
      }
    }
    ++round_;
    return taken;
  }
  template <class Content>
  void deliver(NodeId from, Content content) {
    Outbox out(alone);
    shard_.step({}, {from, alone, Message(std::in_place_type<ToShard>, std::move(content))}, out);
  }

  Shard shard_;
  std::vector<Slice> slices_;
  std::vector<std::shared_ptr<FloatBuffer>> gradients_;  // by worker
  std::map<std::uint64_t, BufferPool> arrivals_;         // by size
  Round round_ = 0;
};

// Two pushes, a step and a version as separate sweeps over whole arrays.
class SeparateSweeps {
 public:
  SeparateSweeps(std::span<const float> one, std::span<const float> other)
      : one_(one), other_(other), sum_(one.size()), state_(one.size()), now_(one.size()), next_(one.size()) {}

  void round() {
    expect(nn::all_finite(one_) && nn::all_finite(other_), "server: a push is not finite");
    nn::sum(sum_, one_, other_);
    nn::step(momentum, {next_, now_, sum_, 1.0 / (2 * positions), 0, {}}, state_, 1, 1);
    std::swap(now_, next_);
  }
  // Reads and writes the same arrays once, the sum excepted.
  void single_sweep() {
    const float *const x = one_.data(), *const y = other_.data();
    float *const w = now_.data(), *const m = state_.data(), *const out = next_.data();
    const float moment = 0.5F * m[0] + (x[0] + y[0]);
#pragma GCC ivdep
    for (std::size_t i = 0; i < one_.size(); ++i) {
      m[i] = 0.5F * m[i] + (x[i] + y[i]);
      out[i] = w[i] - m[i];
    }
    expect(m[0] == moment && out[0] == w[0] - moment, "server: the single sweep is wrong");
  }
  [[nodiscard]] std::span<const float> parameters() const { return now_; }

 private:
  const std::span<const float> one_, other_;
  std::vector<float> sum_, state_, now_, next_;
};

// Processor time of each call of `once`.
template <class Once>
double seconds_each(Duration duration, Once once) {
  const double begun = thread_seconds();
  std::uint64_t times = 0;
  do {
    once();
    ++times;
  } while (thread_seconds() - begun < seconds(duration));
  return (thread_seconds() - begun) / static_cast<double>(times);
}

// Processor time of one round.
double round_seconds(std::uint64_t floats, unsigned pushes, Duration duration) {
  LoneServer server(floats, pushes);
  server.round();
  server.check_first();
  return seconds_each(duration, [&] { server.round(); });
}

}  // namespace

double push_seconds(std::uint64_t floats, Duration duration) {
  return (round_seconds(floats, 6, duration / 2) - round_seconds(floats, 3, duration / 2)) / 3;
}

// A round of n pushes has n - 1 additions, because the first push is kept as it came.
double update_seconds(std::uint64_t floats, Duration duration) {
  return round_seconds(floats, 3, duration / 2) - 3 * push_seconds(floats, duration / 2);
}

double copy_seconds(std::uint64_t floats, Duration duration) {
  const std::vector<float> from(floats, 1);
  std::vector<float> to(floats);
  std::uint64_t copies = 0;
  return seconds_each(duration, [&] {
    std::ranges::copy(from, to.begin());
    expect(to[copies++ % floats] == 1, "server: a copy is wrong");
  });
}

double pair_seconds(std::uint64_t floats, Duration duration) {
  LoneServer server(floats, 2);
  SeparateSweeps plain(server.gradient_of(0), server.gradient_of(1));
  for (int round = 0; round < 2; ++round) {
    (void)server.round_of_received();
    plain.round();
    expect(server.holds(plain.parameters()), "server: the parameters are not those of separate sweeps");
  }
  double taken = 0;
  std::uint64_t rounds = 0;
  seconds_each(duration, [&] {
    taken += server.round_of_received();
    ++rounds;
  });
  return taken / static_cast<double>(rounds);
}

double separate_seconds(std::uint64_t floats, Duration duration) {
  const auto gradient = pattern(floats), other = pattern(floats);
  SeparateSweeps plain(gradient->span(), other->span());
  return seconds_each(duration, [&] { plain.round(); });
}

double single_sweep_seconds(std::uint64_t floats, Duration duration) {
  const auto gradient = pattern(floats), other = pattern(floats);
  SeparateSweeps plain(gradient->span(), other->span());
  return seconds_each(duration, [&] { plain.single_sweep(); });
}

}  // namespace steelyard::bench
