#include "app/launch/process_options.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "app/processes/process_keys.h"

namespace steelyard::process_options_test {
namespace {

using testing::ElementsAre;

// The options that a process reads from these arguments.
template <class Options>
Options read(std::vector<std::string> words) {
  CLI::App app;
  Options options;
  add_keys(app, process_keys(options));
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  app.parse(words);
  return options;
}

template <class Options>
void expect_same_arguments(const Options& options) {
  const std::vector<std::string> words = arguments_of(options);
  EXPECT_EQ(arguments_of(read<Options>(words)), words);
}

TEST(ProcessOptions, WorkerOptionsReadBackTheSame) {
  WorkerOptions given;
  given.scheduler = "10.0.0.1:7070";
  given.spec = {
      "ada", "2, 6@10, again@20", "0.25", "cuda:3", 9'223'372'036'854'775'807U, "auto-2", true, "bf16", true};
  given.data_options = {"dir=/a b", "-x=$HOME", "name="};
  given.shards = 2;
  given.listen = "0.0.0.0:*";
  given.advertise = "box";
  given.insecure = true;
  given.exchange = "sockets";
  given.wait = 0.1;
  given.quiet = true;
  const auto got = read<WorkerOptions>(arguments_of(given));
  EXPECT_EQ(got.scheduler, given.scheduler);
  EXPECT_EQ(got.spec.name, "ada");
  EXPECT_TRUE(got.spec.background);
  EXPECT_EQ(got.spec.simulate_slowdown, given.spec.simulate_slowdown);
  EXPECT_EQ(got.spec.simulate_cpu_share, "0.25");
  EXPECT_EQ(got.spec.device, "cuda:3");
  EXPECT_EQ(got.spec.max_batch, given.spec.max_batch);
  EXPECT_EQ(got.spec.threads, "auto-2");
  EXPECT_EQ(got.spec.precision, "bf16");
  EXPECT_TRUE(got.spec.recompute);
  EXPECT_EQ(got.data_options, given.data_options);
  EXPECT_EQ(got.shards, 2U);
  EXPECT_EQ(got.listen, "0.0.0.0:*");
  EXPECT_EQ(got.advertise, "box");
  EXPECT_TRUE(got.insecure);
  EXPECT_EQ(got.exchange, "sockets");
  EXPECT_EQ(got.wait, 0.1);
  EXPECT_TRUE(got.quiet);
  expect_same_arguments(given);
}

TEST(ProcessOptions, ServerOptionsReadBackTheSame) {
  const ServerOptions given{.scheduler = "ipc:///tmp/s",
                            .name = "server-0",
                            .listen = "0.0.0.0:*",
                            .keys = "/k",
                            .advertise = "box",
                            .shards = 64,
                            .exchange = "sockets",
                            .wait = 1e6,
                            .trace = "/tmp/trace",
                            .quiet = true,
                            .insecure = true};
  const auto got = read<ServerOptions>(arguments_of(given));
  EXPECT_EQ(got.scheduler, given.scheduler);
  EXPECT_EQ(got.name, given.name);
  EXPECT_EQ(got.listen, given.listen);
  EXPECT_EQ(got.advertise, "box");
  EXPECT_EQ(got.shards, 64U);
  EXPECT_EQ(got.exchange, "sockets");
  EXPECT_EQ(got.wait, 1e6);
  EXPECT_EQ(got.keys, "/k");
  EXPECT_TRUE(got.quiet && got.insecure);
  expect_same_arguments(given);
}

TEST(ProcessOptions, SchedulerOptionsReadBackTheSame) {
  const SchedulerOptions given{.listen = "[::1]:7070",
                               .keys = "/k",
                               .results = {"-runs/it's", true, "/c/7", true, 512.5, ":7080", true, 5},
                               .trace = "/tmp/trace",
                               .quiet = true,
                               .insecure = true};
  const auto got = read<SchedulerOptions>(arguments_of(given));
  EXPECT_EQ(got.listen, "[::1]:7070");
  EXPECT_EQ(got.results.directory, "-runs/it's") << "a value that begins like an option";
  EXPECT_EQ(got.results.resume_from, "/c/7");
  EXPECT_EQ(got.results.lock, 5);
  EXPECT_EQ(got.results.rotate_mb, 512.5);
  EXPECT_EQ(got.results.web, ":7080");
  EXPECT_EQ(got.keys, "/k");
  EXPECT_EQ(got.trace, given.trace);
  EXPECT_TRUE(got.results.resume && got.results.tensorboard && got.results.ready && got.quiet &&
              got.insecure);
  expect_same_arguments(given);
}

TEST(ProcessOptions, DefaultsNeedNoArguments) {
  WorkerOptions worker;
  worker.scheduler = "box:1";
  worker.spec.name = "ada";
  EXPECT_THAT(arguments_of(worker), ElementsAre("--scheduler", "box:1", "--name", "ada"));
  for (const auto& words : {arguments_of(ServerOptions{}), arguments_of(SchedulerOptions{})})
    EXPECT_THAT(words, testing::Contains("--listen")) << "the environment could override the default";
}

// The arguments of a launcher must count whatever the environment of the process is.
TEST(ProcessOptions, ArgumentsOverrideTheEnvironment) {
  for (const char* name : {"STEELYARD_LISTEN", "STEELYARD_NAME", "STEELYARD_SCHEDULER"})
    setenv(name, "elsewhere", 1);
  ServerOptions server;
  server.scheduler = "box:1";
  expect_same_arguments(server);
  EXPECT_EQ(read<ServerOptions>(arguments_of(server)).name, "");
  EXPECT_EQ(read<SchedulerOptions>({}).listen, "elsewhere") << "without arguments it counts";
  EXPECT_EQ(read<SchedulerOptions>(arguments_of(SchedulerOptions{})).listen, "127.0.0.1:7070");
  for (const char* name : {"STEELYARD_LISTEN", "STEELYARD_NAME", "STEELYARD_SCHEDULER"}) unsetenv(name);
}

TEST(ProcessOptions, FormerNamesAreStillRead) {
  const auto got = read<WorkerOptions>({"--scheduler", "box:1", "--slow", "3", "--polite"});
  EXPECT_EQ(got.spec.simulate_slowdown, "3");
  EXPECT_TRUE(got.spec.background);
}

TEST(ProcessOptions, InvalidOptionsAreRefused) {
  EXPECT_THROW(read<WorkerOptions>({}), CLI::RequiredError);
  for (const auto& [option, value] :
       {std::pair("--simulate-slowdown", "0.5"), std::pair("--simulate-cpu-share", "2"),
        std::pair("--max-batch", "-1"), std::pair("--device", "tpu"), std::pair("--device", "gpu"),
        std::pair("--device", "cuda:0-3")}) {
    EXPECT_THROW(read<WorkerOptions>({"--scheduler", "box:1", option, value}), CLI::ValidationError)
        << option;
  }
}

}  // namespace
}  // namespace steelyard::process_options_test
