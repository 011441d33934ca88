// The scheduler's time per round: it receives all Reports of a round and sends all Starts of the next one.
// The limit is the time to decode and encode the same messages.
#include <chrono>
#include <memory>

#include "balancing/policies.h"
#include "bench/sections.h"
#include "core/random.h"
#include "protocol/codec.h"
#include "scheduler/rounds/invariants.h"
#include "scheduler/scheduler.h"

namespace steelyard::bench {
namespace {

constexpr std::uint64_t bench_share = 32;  // positions per worker, on average
constexpr Term bench_term = 1;
constexpr unsigned warm_up_rounds = 40;  // rounds; the predictors learn from the 32nd sample on

// Measures the time that a policy takes.
class Timed final : public balancing::Policy {
 public:
  Timed(std::unique_ptr<Policy> policy, Duration& taken) : policy_(std::move(policy)), taken_(taken) {}

  void observe(const balancing::Sample& sample) override {
    const Time start = steady_now();
    policy_->observe(sample);
    taken_ += steady_now() - start;
  }
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    const Time start = steady_now();
    auto shares = policy_->plan(request);
    taken_ += steady_now() - start;
    return shares;
  }
  [[nodiscard]] std::string save() const override { return policy_->save(); }
  void restore(const std::string& text) override { policy_->restore(text); }

 private:
  const std::unique_ptr<Policy> policy_;
  Duration& taken_;
};

// A scheduler; this class acts as its workers and its shard.
class Cluster {
 public:
  Cluster(unsigned workers, const std::string& policy, std::uint64_t seed)
      : workers_(workers),
        job_(job_of(workers, policy)),
        random_(seed),
        scheduler_(job_, beginning(), std::make_unique<Timed>(balancing::make_policy(policy), balancing_)) {
    for (unsigned i = 0; i < workers; ++i) seconds_per_sample_.push_back(1e-4 * (1 + random_.uniform() * 7));
    tell(shard_, Hello{0, "shard", "tcp://127.0.0.1:1"});
    for (unsigned i = 0; i < workers; ++i) tell(worker(i), Hello{0, "worker-" + std::to_string(i), {}});
    for (unsigned i = 0; i < workers; ++i) tell(worker(i), Ready{});
    tell(shard_, ShardBeat{bench_term, 0, 0, true, {}, false});
    for (unsigned i = 0; i < warm_up_rounds; ++i) {
      round();
      const std::string trouble = invariants_.check(scheduler_);
      expect(trouble.empty(), "scheduler: " + trouble);
    }
  }

  // Microseconds per round, over about `duration`. Also measures policy_share().
  double measure(Duration duration) {
    balancing_ = deciding_ = {};
    unsigned rounds = 0;
    for (; rounds < 3 || deciding_ < duration; ++rounds) round();
    policy_share_ = seconds(balancing_) / seconds(deciding_);
    return seconds(deciding_) * 1e6 / rounds;
  }
  [[nodiscard]] double policy_share() const { return policy_share_; }

  // Microseconds to decode a round's Reports and to encode its Starts.
  double codec(Duration duration) {
    const auto reported = encode(Message(std::in_place_type<ToScheduler>, report_of(starts_.front(), 0)));
    const Message start(std::in_place_type<ToWorker>, starts_.front());
    unsigned rounds = 0;
    const Time begin = steady_now();
    for (; rounds < 3 || steady_now() - begin < duration; ++rounds) {
      for (unsigned i = 0; i < workers_; ++i) {
        expect(std::holds_alternative<Message>(decode(Role::scheduler, reported.header, {})) &&
                   !encode(start).header.empty(),
               "scheduler: a message cannot be encoded and decoded");
      }
    }
    return seconds(steady_now() - begin) * 1e6 / rounds;
  }

 private:
  static Job job_of(unsigned workers, const std::string& policy) {
    Job job;
    append(job.layout, "values", {1024});
    job.layout.slice_size = 1024;
    job.global_batch = bench_share * workers;
    job.train_samples = job.global_batch << 20;
    job.workers = workers;
    job.policy = policy;
    job.evaluate_every = job.checkpoint_every = 0;
    job.checkpoint_minutes = 0;
    return job;
  }
  static Progress beginning() {
    Progress from;
    from.term = bench_term;
    return from;
  }
  static NodeId worker(unsigned i) { return {Role::worker, 1 + i}; }

  // A worker's compute time has 5 % of noise.
  Report report_of(const Start& start, unsigned i) {
    const double took = static_cast<double>(start.piece.positions.size()) * seconds_per_sample_[i] *
                        (1 + 0.05 * (random_.uniform() - 0.5));
    return {bench_term, start.piece, took, 1.0, 0, 0.9, 8000};
  }

  template <class Said>
  void tell(NodeId from, Said said) {
    const Envelope in{from, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(said))};
    now_ = now_ + std::chrono::microseconds(1);
    const Time start = steady_now();
    scheduler_.step(now_, in, out_);
    deciding_ += steady_now() - start;
    for (Envelope& it : out_.take()) hear(it);
  }
  void hear(const Envelope& envelope) {
    const auto* message = std::get_if<ToWorker>(&envelope.message);
    const Start* start = message == nullptr ? nullptr : std::get_if<Start>(message);
    if (start == nullptr) return;
    starts_.push_back(*start);
    owners_.push_back(static_cast<unsigned>(envelope.to.number - 1));
  }

  // Reports all owed pieces, in another order every round.
  void round() {
    const std::vector<Start> owed = std::exchange(starts_, {});
    const std::vector<unsigned> owners = std::exchange(owners_, {});
    std::uint64_t positions = 0;
    for (const Start& start : owed) positions += start.piece.positions.size();
    expect(positions == job_.global_batch, "scheduler: the pieces of a round do not cover it");
    const std::size_t first = random_.below(owed.size());
    for (std::size_t i = 0; i < owed.size(); ++i) {
      const std::size_t at = (first + i) % owed.size();
      tell(worker(owners[at]), report_of(owed[at], owners[at]));
    }
    expect(starts_.size() == workers_ && starts_.front().piece.round == owed.front().piece.round + 1,
           "scheduler: the next round did not begin");
    tell(shard_, Closed{bench_term, owed.front().piece.round + 1});
  }

  static constexpr NodeId shard_{Role::shard, 1};
  const unsigned workers_;
  const Job job_;
  Random random_;
  Duration balancing_{}, deciding_{};
  Scheduler scheduler_;
  Invariants invariants_;
  Outbox out_{scheduler_node};
  std::vector<double> seconds_per_sample_;
  std::vector<Start> starts_;
  std::vector<unsigned> owners_;
  Time now_{std::chrono::seconds(1)};
  double policy_share_ = 0;
};

}  // namespace

void scheduler_section(const Effort& effort, Table& table) {
  table.section("scheduler, microseconds per round (in brackets: the policy's share of them)");
  for (const unsigned workers : {3U, 100U, 1000U}) {
    Cluster equal(workers, "equal", effort.seed), balanced(workers, "lb-bsp", effort.seed);
    const auto spreads = alternate(effort.pairs, {[&] { return equal.measure(effort.reading); },
                                                  [&] { return balanced.measure(effort.reading); },
                                                  [&] { return equal.codec(effort.reading / 4); }});
    const auto add = [&](const std::string& policy, const Cluster& cluster, const Spread& ours) {
      char name[64];
      std::snprintf(name, sizeof name, "%u workers, %s (%.0f %%)", workers, policy.c_str(),
                    100 * cluster.policy_share());
      table.add({name, "us", ours, "codec alone", spreads[2], true, {}});
    };
    add("equal", equal, spreads[0]);
    add("lb-bsp", balanced, spreads[1]);
  }
}

}  // namespace steelyard::bench
