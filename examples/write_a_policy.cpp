// A policy of your own, for scenarios and real jobs: shares in proportion to the mean speed of past rounds,
// with weights that decay by a factor per round. steelyard::run adds all commands of `steelyard`:
//
//   write_a_policy compare examples/scenarios/step.toml --policies equal,mean-speed,steelyard
//   write_a_policy train examples/jobs/quick.toml --set cluster.policy=mean-speed
//   write_a_policy help policy
//
// To build a copy in your own repository: docs/tutorial.md, "Build in your own repository".
//
// The first command prints 81.6 % of ideal for mean-speed and 98.9 for steelyard: a mean over all rounds
// adapts too slowly when machines change. The option --set policy.mean-speed.keep=0.5 makes it adapt faster.
#include <cmath>
#include <map>
#include <memory>

#include <steelyard/policy.h>
#include <steelyard/run.h>

namespace {

namespace balancing = steelyard::balancing;

class MeanSpeed final : public balancing::Policy {
 public:
  explicit MeanSpeed(double keep) : keep_(keep) {}

  void observe(const balancing::Sample& it) override {
    if (it.samples == 0 || !(it.seconds > 0 && it.seconds < INFINITY)) return;  // ignore invalid samples
    Work& work = work_[it.slot];
    work.samples = keep_ * work.samples + static_cast<double>(it.samples);
    work.seconds = keep_ * work.seconds + it.seconds;
  }
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    std::vector<double> speeds;
    for (const auto& worker : request.workers) {
      const Work& work = work_[worker.slot];
      speeds.push_back(work.seconds > 0 ? work.samples / work.seconds : 0);  // all 0: equal shares
    }
    return balancing::largest_remainder(speeds, request.positions, balancing::share_bounds(request));
  }
  [[nodiscard]] std::string save() const override { return {}; }  // starts empty when a job is resumed
  void restore(const std::string&) override {}

 private:
  struct Work {
    double samples = 0, seconds = 0;
  };
  double keep_;
  std::map<std::uint32_t, Work> work_;  // by slot
};

std::unique_ptr<balancing::Policy> mean_speed(const steelyard::Options& options) {
  return std::make_unique<MeanSpeed>(options.number("keep"));
}

}  // namespace

int main(int argc, char** argv) {
  using steelyard::number_option;
  return steelyard::run(
      argc, argv,
      {.policies = {{"mean-speed",
                     mean_speed,
                     "in proportion to the mean speed of past rounds",
                     {number_option("keep", 1, 0, 1, "weight of the past in each round")}}}});
}
