#include "app/config/choices.h"

#include <gmock/gmock.h>

#include "app/config/hosts_file.h"
#include "core/error.h"

namespace steelyard::worker_device_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Placed = std::pair<std::string, std::string>;  // name and device
std::vector<Placed> placed(const std::vector<WorkerSpec>& workers) {
  std::vector<Placed> all;
  for (const WorkerSpec& it : workers) all.emplace_back(it.name, it.device);
  return all;
}

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "accepted";
}
std::string job_refusal(const std::string& keys) {
  return refusal([&] { parse_job("[[worker]]\n" + keys + "\n", "j.toml"); });
}

TEST(WorkerDevice, ADeviceRangeIsAWorkerOnEachGpu) {
  const JobFile file = parse_job(R"([[worker]]
name = "card"
device = "cuda:1-3"
simulate_slowdown = 2
[[worker]]
[[worker]]
device = "cuda:0"
)",
                                 "j.toml", {"worker.card.max_batch=64"});
  EXPECT_THAT(placed(file.worker_specs),
              ElementsAre(Placed("card-1", "cuda:1"), Placed("card-2", "cuda:2"), Placed("card-3", "cuda:3"),
                          Placed("worker-1", "cpu"), Placed("worker-2", "cuda:0")));
  EXPECT_EQ(file.job.workers, 5U);
  EXPECT_EQ(file.worker_specs[2].simulate_slowdown, "2");
  EXPECT_EQ(file.worker_specs[2].max_batch, 64U);
  EXPECT_EQ(parse_job(file.resolved, "again").resolved, file.resolved);
}

TEST(WorkerDevice, HostsAcceptDeviceRangesToo) {
  const HostsFile file = parse_hosts(R"([[host]]
scheduler = true
servers = 1
[[host.worker]]
device = "cuda:0-1"
data = { dir = "/a" }
[[host.worker]]
)",
                                     "hosts.toml");
  std::vector<WorkerSpec> workers;
  for (const HostWorker& it : file.hosts[0].workers) workers.push_back(it.spec);
  EXPECT_THAT(placed(workers), ElementsAre(Placed("worker-0-0", "cuda:0"), Placed("worker-0-1", "cuda:1"),
                                           Placed("worker-2", "cpu")));
  EXPECT_THAT(file.hosts[0].workers[1].data_options, ElementsAre("dir=/a"));
}

TEST(WorkerDevice, ExpandedNamesMustDiffer) {
  EXPECT_THAT(job_refusal("name = \"a\"\ndevice = \"cuda:0-1\"\n[[worker]]\nname = \"a-1\""),
              HasSubstr("two workers are named \"a-1\""));
}

TEST(WorkerDevice, UnsupportedOptionsAreRefusedWithPlaceAndRemedy) {
  EXPECT_THAT(job_refusal("simulate_cpu_share = 0.5\ndevice = \"cuda:2\""),
              AllOf(StartsWith("j.toml:3:10: simulate_cpu_share = \"0.5\" limits a processor"),
                    HasSubstr("on cuda:2"), HasSubstr("slow it down with simulate_slowdown")));
  EXPECT_THAT(job_refusal("simulate_cpu_share = 0.5\ndevice = \"cuda:0-1\""),
              HasSubstr("limits a processor"));
  EXPECT_THAT(job_refusal("precision = \"tf32\""),
              AllOf(StartsWith("j.toml:1:"), HasSubstr("is for CUDA devices"), HasSubstr("\"bf16\"")));
  for (const char* good :
       {"simulate_slowdown = \"2, 6@10\"\ndevice = \"cuda:0\"",
        "simulate_cpu_share = 1.0\ndevice = \"cuda:0\"", "precision = \"tf32\"\ndevice = \"cuda:0\"",
        "precision = \"tf32\"\ndevice = \"auto\"", "simulate_cpu_share = 0.5\ndevice = \"auto\"",
        "precision = \"bf16\"\ndevice = \"cuda:0\""}) {
    EXPECT_EQ(job_refusal(good), "accepted") << good;
  }
  EXPECT_THAT(refusal([] {
                parse_hosts(
                    "[[host]]\nscheduler = true\nservers = 1\n[[host.worker]]\nprecision = \"tf32\"\n",
                    "hosts.toml");
              }),
              AllOf(StartsWith("hosts.toml:4"), HasSubstr("is for CUDA devices")));
}

TEST(WorkerDevice, TheDeviceThatAutoChoseIsChecked) {
  WorkerSpec spec;
  spec.device = "auto";
  spec.precision = "tf32";
  EXPECT_EQ(device_trouble(spec), "");
  EXPECT_THAT(device_trouble(spec, Device{}), HasSubstr("is for CUDA devices"));
  EXPECT_EQ(device_trouble(spec, Device{Device::Type::cuda, 1}), "");
  EXPECT_EQ(device_trouble(spec, Device{Device::Type::host_cuda}), "") << "for tests of the same kernels";
}

// A silent fall-back to float32 would slow the job down.
TEST(WorkerDevice, Bf16NeedsAProcessorThatMultipliesIt) {
  WorkerSpec spec;
  spec.precision = "bf16";
  EXPECT_EQ(processor_trouble(spec, Device{}, true), "");
  EXPECT_THAT(processor_trouble(spec, Device{}, false),
              AllOf(HasSubstr("AVX-512 BF16 or AMX"), HasSubstr("precision = \"float32\"")));
  EXPECT_EQ(processor_trouble(spec, Device{Device::Type::cuda, 1}, false), "");
  EXPECT_EQ(processor_trouble(spec, Device{Device::Type::host_cuda}, false), "");
  spec.precision = "float32";
  EXPECT_EQ(processor_trouble(spec, Device{}, false), "");
}

TEST(WorkerDevice, GpuIsNotADeviceName) {
  EXPECT_EQ(job_refusal("device = \"gpu\""),
            "j.toml:2:10: device = \"gpu\" in [[worker]]: give " + device_list_expected());
}

}  // namespace
}  // namespace steelyard::worker_device_test
