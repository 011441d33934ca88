// A server's thread alone: the processor time of a Shard for pushes and for steps of the optimizer, without
// a transport. They are `push_ms` and `update_ms` of a scenario (sim/server_clock.h).
#include "bench/transport/server_rates.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include "bench/pairs.h"
#include "bench/transport/exchange.h"
#include "core/layout.h"
#include "core/time.h"
#include "server/shard/shard.h"

namespace steelyard::bench {
namespace {

constexpr NodeId alone{Role::shard, 1};
constexpr Term first_term = 1;
constexpr std::uint64_t positions = 8;  // of one push

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
    job.optimizer = {nn::Optimizer::Kind::momentum, 0.5, 0};
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
    const Interval all{0, positions * gradients_.size()};
    deliver(scheduler_node, BeginRound{first_term, round_, 0, all, all.size(), false, false});
    for (std::uint64_t worker = 0; worker < gradients_.size(); ++worker) {
      const Interval mine{worker * positions, (worker + 1) * positions};
      for (std::uint32_t slice = 0; slice < slices_.size(); ++slice) {
        const std::span<const float> part(gradients_[worker]->data() + slices_[slice].begin,
                                          slices_[slice].size());
        deliver({Role::worker, 1 + worker}, Push{first_term,
                                                 {.id = 1 + worker, .round = round_, .positions = mine},
                                                 static_cast<double>(positions),
                                                 slice,
                                                 Blob::of_floats(gradients_[worker], part)});
      }
    }
    ++round_;
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
  template <class Content>
  void deliver(NodeId from, Content content) {
    Outbox out(alone);
    shard_.step({}, {from, alone, Message(std::in_place_type<ToShard>, std::move(content))}, out);
  }

  Shard shard_;
  std::vector<Slice> slices_;
  std::vector<std::shared_ptr<FloatBuffer>> gradients_;  // by worker
  Round round_ = 0;
};

// Processor time of one round.
double round_seconds(std::uint64_t floats, unsigned pushes, Duration duration) {
  LoneServer server(floats, pushes);
  server.round();
  server.check_first();
  const double begun = thread_seconds();
  std::uint64_t rounds = 0;
  do {
    server.round();
    ++rounds;
  } while (thread_seconds() - begun < seconds(duration));
  return (thread_seconds() - begun) / static_cast<double>(rounds);
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
  const double begun = thread_seconds();
  std::uint64_t copies = 0;
  do {
    std::ranges::copy(from, to.begin());
    expect(to[copies % floats] == 1, "server: a copy is wrong");
    ++copies;
  } while (thread_seconds() - begun < seconds(duration));
  return (thread_seconds() - begun) / static_cast<double>(copies);
}

}  // namespace steelyard::bench
