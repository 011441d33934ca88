// A polite worker beside a program that wants every core.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/processor.h"
#include "core/time.h"
#include "tests/support/process_run.h"

namespace steelyard {
namespace {

// What loops on all cores get of them in two seconds, in seconds of one core.
double seconds_of_loops() {
  std::atomic<bool> over = false;
  std::vector<double> got(allowed_cores());
  std::vector<std::thread> loops;
  for (double& mine : got)
    loops.emplace_back([&] {
      while (!over) mine = seconds(thread_cpu_time());
    });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  over = true;
  double sum = 0;
  for (std::thread& loop : loops) loop.join();
  for (const double mine : got) sum += mine;
  return sum;
}

class ProcessPolite : public ProcessTest {
 protected:
  // Beside a training whose workers, one for each core, compute nearly all the time.
  double loops_beside(const std::string& name, bool polite) {
    std::string job = R"([model]
name = "mlp"
[data]
name = "synthetic"
train = 8192
[train]
batch = 4096
epochs = 1000000
evaluate_every = 0
checkpoint_every = 0
[cluster]
servers = 1
policy = "equal"
)";
    for (unsigned i = 0; i < allowed_cores(); ++i)
      job += std::string("[[worker]]\npolite = ") + (polite ? "true\n" : "false\n");
    Process run(path(name + ".log"), {"train", write(name + ".toml", job), "--run-dir", path(name)});
    EXPECT_TRUE(eventually([&] { return !text_of(path(name + "/rounds.jsonl")).empty(); })) << run.output();
    const double got = seconds_of_loops();
    run.signal(SIGINT);
    ends_clean(run, 75);
    return got;
  }
};

TEST_F(ProcessPolite, LeavesTheProcessorToOthers) {
  const double beside_plain = loops_beside("plain", false), beside_polite = loops_beside("polite", true);
  EXPECT_GT(beside_polite, 1.2 * beside_plain);
}

}  // namespace
}  // namespace steelyard
