// Whole jobs in the virtual world, each with a seed from which sync mode, policy and all faults are drawn.
// Workers, servers, mirrors, the scheduler and its standby are killed, connections break, processes pause,
// the journal's disk is slow, and messages are delayed, lost and repeated. Faults occur together if that is
// guaranteed to be survived.
//
//   test_chaos                    the seeds 1 to 2000
//   test_chaos --seeds 17 17      one of them
//   test_chaos --seeds 1 10000    many
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "balancing/policies.h"
#include "tests/hosts/whole_jobs.h"
#include "tests/support/sync_modes.h"

namespace steelyard::test {
namespace {

std::uint64_t first_seed = 1, last_seed = 2000;

// Draws faults, and applies them to a world.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : seed_(seed), random_(seed * 7919) {}

  [[nodiscard]] Job job() {
    const auto& modes = sync_modes();
    mode_ = modes[random_.below(modes.size())];
    Job job = job_for(mode_, 60 + 12 * random_.below(6), 24, 2);
    job.replicas = 1;
    job.heartbeat_timeout = 5;
    job.checkpoint_rounds = random_.below(3);
    job.grain = std::vector{1U, 1U, 4U}[random_.below(3)];
    return job;
  }
  [[nodiscard]] World::Options options() {
    const std::vector<std::string> policies = balancing::policy_names();
    World::Options options;
    options.seed = seed_;
    options.policy = policies[random_.below(policies.size())];
    for (std::uint64_t i = random_.below(3); i > 0; --i) options.scheduler_dies_at.insert(random_.below(900));
    restarts_ = options.scheduler_dies_at.size();
    options.standby = random_.below(3) == 0;
    options.back_late_s = 5;
    if (random_.below(2) == 0) options.condense_after = random_.below(8000);
    if (random_.below(3) == 0) options.journal_late_ms = 40 * random_.uniform();
    for (std::uint64_t i = random_.below(4); i > 0; --i) options.faults.push_back(fault());
    rate_ = 0.02 * random_.uniform() * random_.uniform();
    return options;
  }
  // Called before a message arrives.
  void strike(World& world) {
    // A second loss is not allowed before a restarted scheduler has noticed the first.
    if (world.restarts() < restarts_ || world.scheduler().phase() != Scheduler::Phase::running) return;
    if (struck_ >= 12 || random_.uniform() >= rate_) return;
    ++struck_;
    switch (random_.below(6)) {
      case 0:
        return kill_worker(world);
      case 1:
      case 2:
        return kill_server(world);
      case 3:
        return world.break_connection(any(world.workers()), any(world.shards()));
      case 4:
        return kill_standby(world);
      default:
        return world.break_connection(any(world.workers()), scheduler_node);
    }
  }
  [[nodiscard]] int struck() const { return struck_; }
  [[nodiscard]] const std::string& mode() const { return mode_; }

 private:
  sim::Fault fault() {
    using Effect = sim::Fault::Effect;
    const Time begin = Time{std::chrono::seconds(1)} + from_seconds(random_.uniform());
    const Role node = std::vector{Role::worker, Role::shard, Role::checkpointer}[random_.below(3)];
    switch (random_.below(5)) {
      case 0:
        return {.effect = Effect::delay, .chance = 0.1, .most = milliseconds(200)};
      case 1:
        // Not Start: a repeated order of a finished evaluation would be computed again in vain.
        return {.effect = Effect::repeat,
                .kind = [](const Message& it) { return !sim::says<ToWorker, Start>(it); },
                .chance = 0.05};
      case 2:
        return {.effect = Effect::hold,
                .from = node,
                .to = node == Role::shard ? Role::worker : Role::shard,
                .begin = begin,
                .end = begin + from_seconds(random_.uniform())};
      case 3:
        return {.effect = Effect::pause,
                .to = node,
                .first = random_.below(100),
                .count = 2,
                .least = milliseconds(10),
                .most = milliseconds(1500)};
      default:
        return {.effect = Effect::lose,
                .to = random_.below(2) == 0 ? Role::worker : Role::shard,
                .first = random_.below(300),
                .count = 1};
    }
  }
  [[nodiscard]] NodeId any(const std::vector<NodeId>& nodes) { return nodes[random_.below(nodes.size())]; }
  void kill_worker(World& world) {
    const NodeId victim = any(world.workers());
    world.add_worker("newcomer-" + std::to_string(++newcomers_));
    if (world.alive(victim)) world.kill(victim);
  }
  // Kills a shard or its mirror, if both are alive and each can replace the other.
  void kill_server(World& world) {
    const Members& members = world.scheduler().members();
    const auto slot = static_cast<std::uint32_t>(random_.below(2));
    const auto mirror = members.mirrors.find(slot);
    if (mirror == members.mirrors.end() || !mirror->second.filled) return;
    const NodeId primary = members.shards.at(slot).node, copy = mirror->second.node;
    if (!world.alive(primary) || !world.alive(copy) || !world.is_mirrored(primary)) return;
    if (slot == 1 && world.now() - standby_died_ < at_once) return;
    if (slot == 1) last_server_died_ = world.now();
    world.kill(random_.below(2) == 0 ? primary : copy);
    world.add_shard("server-" + std::to_string(10 + ++newcomers_));
  }

  // Not together with the server that arbitrates whether the scheduler may continue without a standby.
  void kill_standby(World& world) {
    if (!world.alive(world.standby()) || world.now() - last_server_died_ < at_once) return;
    standby_died_ = world.now();
    world.kill(world.standby());
  }

  static constexpr Duration at_once = std::chrono::seconds(3);
  const std::uint64_t seed_;
  Random random_;
  Time standby_died_{}, last_server_died_{};
  std::size_t restarts_ = 0;
  double rate_ = 0;
  int struck_ = 0, newcomers_ = 0;
  std::string mode_;
};

TEST(Chaos, EveryPositionCountsOnceUnderAllFaults) {
  std::uint64_t struck = 0, restarts = 0, take_overs = 0, condensed = 0;
  for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    Chaos chaos(seed);
    const Job job = chaos.job();
    World::Options options = chaos.options();
    if (job.sync.paced) options.policy = "orchestra";
    World world(job, options);
    world.populate(3, 2);
    world.on_delivery = [&](const Envelope& envelope) {
      chaos.strike(world);
      return world.alive(envelope.to);
    };
    world.run();
    expect_whole(world, job, "seed " + std::to_string(seed) + ", " + chaos.mode() + ", " + options.policy);
    if (HasFailure()) {
      for (const ToRecorder& message : world.recorded())
        if (const auto* note = std::get_if<Note>(&message)) std::printf("  %s\n", note->text.c_str());
      return;
    }
    struck += static_cast<std::uint64_t>(chaos.struck());
    restarts += world.restarts() - world.take_overs();
    take_overs += world.take_overs();
    condensed += world.condensed();
  }
  const auto count = [](std::uint64_t of, const char* what) {
    std::printf("%llu %s\n", static_cast<unsigned long long>(of), what);
  };
  count(struck, "losses");
  count(restarts, "restarts of the scheduler");
  count(take_overs, "take-overs by a standby");
  count(condensed, "condensed journals");
}

}  // namespace
}  // namespace steelyard::test

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  if (count == 4 && std::string_view(words[1]) == "--seeds") {
    steelyard::test::first_seed = std::strtoull(words[2], nullptr, 10);
    steelyard::test::last_seed = std::strtoull(words[3], nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
