// A policy of your own, in scenarios and in real jobs: shares in proportion to the speed so far, in which the
// past counts less by a factor each round. steelyard::run makes all of `steelyard` of this program:
//
//   write_a_policy compare examples/scenarios/step.toml --policies equal,mean-speed,steelyard
//   write_a_policy train examples/jobs/quick.toml --set cluster.policy=mean-speed
//   write_a_policy help policy
//
// The first of them prints 81.6 % of the ideal for mean-speed and 98.9 for steelyard: what is never forgotten
// is no good when machines change. Its option, --set policy.mean-speed.keep=0.5, lets it forget.
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
    if (!(it.seconds > 0)) return;  // impossible; a policy has to ignore it
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
  [[nodiscard]] std::string save() const override { return {}; }  // forgets when a job is resumed
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
  return steelyard::run(argc, argv,
                        {.policies = {{"mean-speed",
                                       mean_speed,
                                       "in proportion to the mean speed so far",
                                       {number_option("keep", 1, 0, 1, "of the past in each round")}}}});
}
