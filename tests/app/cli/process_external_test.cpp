// A model that only the workers define, which run another program than scheduler and servers.
#include <gmock/gmock.h>

#include <memory>

#include "tests/support/process_run.h"

namespace steelyard::process_external_test {
namespace {

using testing::HasSubstr;

class ExternalModel : public ProcessTest {
 protected:
  [[nodiscard]] std::string endpoint() const { return "ipc://" + path("scheduler"); }
  std::unique_ptr<Process> start(const std::string& name, const std::vector<std::string>& arguments,
                                 const std::string& program = "steelyard") {
    return std::make_unique<Process>(path(name + ".log"), arguments, std::function<void()>(), program);
  }
  std::unique_ptr<Process> scheduler(const std::vector<std::string>& more = {}) {
    const std::string job =
        write("external.toml",
              "[model]\nname = \"external\"\n[train]\nbatch = 250\nepochs = 3\nlr = 0.01\n"
              "[cluster]\nservers = 1\n[[worker]]\n[[worker]]\n");
    std::vector<std::string> arguments{"scheduler", job, "--listen", endpoint(), "--run-dir", path("run")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start("scheduler", arguments);
  }
  std::unique_ptr<Process> server() {
    return start("server", {"server", "--scheduler", endpoint(), "--name", "s0", "--listen", "127.0.0.1:*"});
  }
  std::unique_ptr<Process> worker(const std::string& name, const std::string& program = "own_engine") {
    return start(name, {"worker", "--scheduler", endpoint(), "--name", name}, program);
  }
};

TEST_F(ExternalModel, TrainsAlthoughTheSchedulerLacksTheModel) {
  const auto s = scheduler(), h = server();
  ASSERT_TRUE(eventually([&] { return s->says("waiting for a worker that sends the model"); }));
  EXPECT_FALSE(std::filesystem::exists(path("run"))) << "the run starts with the model";
  const auto ada = worker("ada"), bob = worker("bob");
  for (const auto* run : {&s, &h, &ada, &bob}) ends_clean(**run, 0);
  EXPECT_GT(accuracy("run"), 0.9);
  EXPECT_EQ(newest_checkpoint("run").source.data, "synthetic") << "the name that the workers use";
}

TEST_F(ExternalModel, AWorkerWithoutTheModelIsNamedAndTheNextIsAsked) {
  const auto s = scheduler();
  ASSERT_TRUE(eventually([&] { return s->says("waiting for a worker"); }));
  const auto plain = worker("plain", "steelyard");
  EXPECT_TRUE(
      eventually([&] { return s->says("worker 'plain' cannot provide the model: it brings no model"); }));
  const auto ada = worker("ada");
  EXPECT_TRUE(eventually([&] { return plain->says("this program has no model: start workers with"); }));
}

TEST_F(ExternalModel, AWaitingSchedulerCanBeStopped) {
  const auto s = scheduler();
  ASSERT_TRUE(eventually([&] { return s->says("waiting for a worker"); }));
  s->signal(SIGTERM);
  ends_clean(*s, 75);
  EXPECT_THAT(s->output(), HasSubstr("no worker has joined, so the job has no model"));
}

}  // namespace
}  // namespace steelyard::process_external_test
