// Many workers in one process, over real connections: each is a session of its own, as in `steelyard worker`,
// but its engine sleeps instead of computing. bench/crowd/crowd.py measures scheduler and server with it.
//
//   steelyard_crowd crowd ENDPOINT COUNT FIRST MS    COUNT workers, named crowd-FIRST and so on, which sleep
//                                                    MS milliseconds for each sample
//   steelyard_crowd scheduler JOB ...                any command of `steelyard`, with the model "sleeper"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <steelyard/run.h>

#include "app/processes/processes.h"
#include "app/processes/worker_session.h"

namespace {

using steelyard::nn::MicroBatch;
using steelyard::nn::Sums;

class Sleeper final : public steelyard::Engine {
 public:
  explicit Sleeper(double milliseconds) : a_sample_(milliseconds) {}

  Sums train(std::span<const float>, steelyard::Samples& samples, std::span<float> gradient,
             const steelyard::FinalRange&) override {
    std::ranges::fill(gradient, 1.0F);
    std::uint64_t count = 0;
    while (const MicroBatch* batch = samples.next()) count += batch->count;
    std::this_thread::sleep_for(a_sample_ * count);
    return {};
  }
  Sums evaluate(std::span<const float>, steelyard::Samples& samples) override {
    while (samples.next() != nullptr) {
    }
    return {};
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {16, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  // A sleeping thread uses no processor time, so its clock must be the wall's.
  [[nodiscard]] steelyard::WorkPlace work_place() const override {
    return steelyard::WorkPlace::other_device;
  }

 private:
  const std::chrono::duration<double, std::milli> a_sample_;
};

steelyard::Workload sleeper(const steelyard::DataSets& data, double milliseconds) {
  steelyard::Workload workload{.data = data};
  append(workload.layout, "weight", {1000});
  workload.initialize = [](std::span<float> w, std::uint64_t) { std::ranges::fill(w, 0.0F); };
  workload.make_engine = [milliseconds] { return std::make_unique<Sleeper>(milliseconds); };
  return workload;
}

int crowd(const std::string& endpoint, int count, int first, double milliseconds) {
  steelyard::raise_descriptor_limit();
  std::mutex opening;
  steelyard::DataSets data;  // shared by all
  std::atomic<int> worst{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const std::string name = "crowd-" + std::to_string(first + i);
      try {
        steelyard::WorkerSession::Setup setup;
        setup.options.scheduler = endpoint;
        setup.options.exchange = "sockets";
        setup.options.quiet = true;
        setup.hello.name = name;
        setup.workload = [&](const steelyard::Welcome& welcome) {
          const std::scoped_lock lock(opening);
          if (!data.train) data = steelyard::open_data(welcome.job->data, welcome.job->data_options);
          return sleeper(data, milliseconds);
        };
        steelyard::WorkerSession session(std::move(setup));
        const int code = steelyard::ending_of(session.run(), endpoint).code;
        if (code != 0) worst = code;
      } catch (const std::exception& trouble) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), trouble.what());
        worst = 1;
      }
    });
  }
  threads.clear();
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "crowd")
    return crowd(argv[2], std::atoi(argv[3]), std::atoi(argv[4]), std::atof(argv[5]));
  const auto named = [](const steelyard::DataSets& data, const steelyard::Options&) {
    return sleeper(data, 0);
  };
  return steelyard::run(argc, argv, {.engines = {{"sleeper", named, "sleeps instead of computing"}}});
}
