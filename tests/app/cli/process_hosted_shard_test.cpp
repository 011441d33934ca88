// servers = "workers": the processes of GPU workers, here on the host executor, keep the model on their
// device.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/processor.h"
#include "core/segment.h"
#include "nn/cuda_devices.h"
#include "tests/support/process_run.h"

namespace steelyard::process_hosted_shard_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostedShard : public ProcessTest {
 protected:
  void SetUp() override {
    if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
    ProcessTest::SetUp();
    std::string text = text_of(job_);
    const std::string name = "name = \"ada\"";
    text.replace(text.find(name), name.size(), name + "\ndevice = \"host-cuda\"");
    job_ = write("hosted.toml", text);
  }
  [[nodiscard]] std::vector<std::string> ordered(const std::string& run_dir, const std::string& servers,
                                                 std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"cluster.servers=" + servers, "cluster.sum_order=ordered",
                             "cluster.policy=equal", "train.epochs=2", "worker.bob.device=host-cuda"});
    return train(run_dir, more);
  }
};

// Two workers on devices, which host the shards: bob, which is throttled, pushes from the memory of the host.
// The same training with servers on processors, and in two halves, has the same bits.
TEST_F(HostedShard, TrainsLikeServersOnProcessors) {
  ASSERT_EQ(run(ordered("hosted", "workers")), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("server 'ada' joined"));
  EXPECT_THAT(said_, Not(HasSubstr("server 'server-0'")));
  EXPECT_GT(accuracy("hosted"), 0.9);
  const Snapshot hosted = newest_checkpoint("hosted");
  ASSERT_EQ(run(ordered("half", "workers", {"train.rounds=40"})), 0) << said_;
  std::vector<std::string> rest = ordered("half", "workers");
  rest.emplace_back("--resume");
  ASSERT_EQ(run(rest), 0) << said_;
  EXPECT_EQ(newest_checkpoint("half").parameters, hosted.parameters);
  EXPECT_EQ(newest_checkpoint("half").progress.version, hosted.progress.version);
  if (cpu_level() == Level::baseline)
    GTEST_SKIP() << "this processor rounds twice where a device rounds once";
  ASSERT_EQ(run(ordered("servers", "2")), 0) << said_;
  EXPECT_EQ(newest_checkpoint("servers").parameters, hosted.parameters);
  EXPECT_EQ(newest_checkpoint("servers").state, hosted.state);
}

// Two workers on devices, which read each other's memory there.
class LentDevices : public HostedShard {
 protected:
  [[nodiscard]] std::vector<std::string> both(const std::string& run_dir, const std::string& servers) const {
    return ordered(run_dir, servers, {"worker.bob.simulate_slowdown=1"});
  }
  // `saved_every`: rounds; 0: only at the end.
  [[nodiscard]] std::vector<std::string> endless(const std::string& run_dir, const std::string& device,
                                                 int saved_every) const {
    return train(run_dir,
                 {"cluster.servers=workers", "worker.bob.device=" + device, "worker.bob.simulate_slowdown=1",
                  "train.epochs=100000", "train.checkpoint_every=0",
                  "train.checkpoint_rounds=" + std::to_string(saved_every)});
  }
  [[nodiscard]] std::string logs(const std::string& run_dir) const {
    return text_of(path(run_dir + "/log/ada.log")) + text_of(path(run_dir + "/log/bob.log"));
  }
  // Bytes of values that these workers have in segments for others. Those of devices are in larger ones.
  static std::uint64_t shared_by_host(const Process& all) {
    std::uint64_t bytes = 0;
    for (const std::string name : {"--name ada", "--name bob"}) {
      const std::filesystem::path open = "/proc/" + std::to_string(all.living_with(name)) + "/fd";
      for (const auto& it : std::filesystem::directory_iterator(open)) {
        std::error_code gone;
        if (!read_symlink(it.path(), gone).string().starts_with("/memfd:steelyard")) continue;
        const std::uint64_t size = std::filesystem::file_size(it.path(), gone);
        if (!gone && size < 16 << 20) bytes += size - Segment::head_size;
      }
    }
    return bytes;
  }
  static bool works(const std::string& rounds) {
    return eventually([&] { return std::ranges::count(text_of(rounds), '\n') > 20; });
  }
};

TEST_F(LentDevices, HaveTheBitsOfServersOnProcessors) {
  ASSERT_EQ(run(both("lent", "workers")), 0) << said_;
  EXPECT_THAT(logs("lent"), AllOf(HasSubstr("server 'ada': through the memory of GPUs"),
                                  HasSubstr("server 'bob': through the memory of GPUs"),
                                  Not(HasSubstr("through sockets"))));
  const Snapshot lent = newest_checkpoint("lent");
  std::vector<std::string> sent = both("sent", "workers");
  sent.insert(sent.end(), {"--exchange", "sockets"});
  ASSERT_EQ(run(sent), 0) << said_;
  EXPECT_THAT(logs("sent"),
              AllOf(HasSubstr("server 'ada': through sockets"), Not(HasSubstr("memory of GPUs"))));
  EXPECT_EQ(newest_checkpoint("sent").parameters, lent.parameters);
  EXPECT_EQ(newest_checkpoint("sent").state, lent.state);
  if (cpu_level() == Level::baseline)
    GTEST_SKIP() << "this processor rounds twice where a device rounds once";
  ASSERT_EQ(run(both("servers", "2")), 0) << said_;
  EXPECT_EQ(newest_checkpoint("servers").parameters, lent.parameters);
  EXPECT_EQ(newest_checkpoint("servers").state, lent.state);
}

// For comparisons with a processor, each shard copies its part of a version to memory of the host. Gradients
// and versions for a worker on a processor are there, too.
TEST_F(LentDevices, ExchangeNothingThroughTheHost) {
  Process all(path("all.log"), endless("run", "host-cuda", 0));
  ASSERT_TRUE(works(path("run/rounds.jsonl"))) << all.output();
  EXPECT_THAT(all.output(), HasSubstr(" 7850 parameters"));
  EXPECT_LT(shared_by_host(all), 2 * 7850 * sizeof(float));
  all.signal(SIGTERM);
  ends_clean(all, 75);
  Process mixed(path("mixed.log"), endless("mixed", "cpu", 0));
  ASSERT_TRUE(works(path("mixed/rounds.jsonl"))) << mixed.output();
  EXPECT_GE(shared_by_host(mixed), 2 * 7850 * sizeof(float));
  mixed.signal(SIGTERM);
  ends_clean(mixed, 75);
}

TEST_F(LentDevices, ALostWorkerEndsTheJobWhicheverItIs) {
  for (const std::string name : {"ada", "bob"}) {
    Process all(path(name + ".log"), endless(name, "host-cuda", 5));
    ASSERT_TRUE(eventually([&] { return !list_checkpoints(path(name + "/checkpoints")).empty(); }))
        << all.output();
    kill(all.living_with("--name " + name), SIGKILL);
    EXPECT_NE(all.code(), 0);
    EXPECT_TRUE(all.says("its part of the model")) << all.output();
    EXPECT_TRUE(all.says("resume: the checkpoint of round")) << all.output();
    EXPECT_TRUE(eventually([&] { return all.living().empty(); }));
  }
}

TEST_F(HostedShard, WorkersOnProcessorsTakePart) {
  ASSERT_EQ(run(train("mixed", {"cluster.servers=workers"})), 0) << said_;
  EXPECT_GT(accuracy("mixed"), 0.9);
  EXPECT_THAT(text_of(path("mixed/rounds.jsonl")), HasSubstr("bob"));
  EXPECT_THAT(text_of(path("mixed/log/bob.log")), HasSubstr("server 'ada': through shared memory"));
}

TEST_F(HostedShard, ALostWorkerEndsTheJobWhichContinuesFromACheckpoint) {
  {
    Process lost(path("lost.log"), train("run", {"cluster.servers=workers", "train.epochs=100000",
                                                 "train.checkpoint_rounds=5"}));
    ASSERT_TRUE(eventually([&] { return !list_checkpoints(path("run/checkpoints")).empty(); }))
        << lost.output();
    kill(lost.living_with("--name ada"), SIGKILL);
    EXPECT_NE(lost.code(), 0);
    EXPECT_TRUE(lost.says("its part of the model")) << lost.output();
    EXPECT_TRUE(lost.says("resume: the checkpoint of round")) << lost.output();
    EXPECT_TRUE(eventually([&] { return lost.living().empty(); }));
  }
  std::vector<std::string> again =
      train("run", {"cluster.servers=workers", "train.epochs=0", "train.seconds=1"});
  again.emplace_back("--resume");
  EXPECT_EQ(run(again), 0) << said_;
}

TEST_F(HostedShard, AWorkerThatIsAskedToExitSavesTheModel) {
  Process all(path("all.log"), train("run", {"cluster.servers=workers", "train.epochs=100000"}));
  ASSERT_TRUE(eventually([&] { return !text_of(path("run/rounds.jsonl")).empty(); })) << all.output();
  kill(all.living_with("--name ada"), SIGTERM);
  ends_clean(all, 75);
  EXPECT_TRUE(all.says("saving and ending the job")) << all.output();
  EXPECT_FALSE(list_checkpoints(path("run/checkpoints")).empty());
}

// The shards end, and the worker does not continue to look for the job without them.
TEST_F(HostedShard, AWorkerThatIsAskedToExitBeforeItsShardsHaveJoinedExits) {
  Process lonely(path("lonely.log"), {"worker", "--scheduler", "127.0.0.1:" + free_port(), "--name", "ada",
                                      "--device", "host-cuda", "--shards", "1", "--wait", "30"});
  ASSERT_TRUE(eventually([&] { return lonely.says("worker 'ada': looking for"); })) << lonely.output();
  lonely.signal(SIGTERM);
  ends_clean(lonely, 75);
  EXPECT_FALSE(lonely.says("no answer from the scheduler")) << lonely.output();
}

TEST_F(HostedShard, WhatCannotHoldIsRefused) {
  EXPECT_EQ(run(train("a", {"cluster.servers=workers", "cluster.replicas=1"})), 78);
  EXPECT_THAT(said_, HasSubstr("shards on GPUs have no mirrors"));
  EXPECT_EQ(run(train("b", {"cluster.servers=workers", "worker.ada.device=cpu"})), 78);
  EXPECT_THAT(said_, HasSubstr("this job has no GPU worker"));
  EXPECT_EQ(run(train("c", {"cluster.servers=some"})), 78);
  EXPECT_THAT(said_, HasSubstr("\"workers\""));
  EXPECT_EQ(run({"worker", "--scheduler", "127.0.0.1:1", "--shards", "1"}), 2);
  EXPECT_THAT(said_, HasSubstr("only a GPU hosts shards"));
}

}  // namespace
}  // namespace steelyard::process_hosted_shard_test
