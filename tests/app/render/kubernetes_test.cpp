// What the manifests say; engines/kubernetes checks them as a cluster does.
#include "app/render/kubernetes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::kubernetes_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RenderedJob made_job() {
  RenderedJob job;
  job.name = "digits";
  job.origin = "steelyard render jobset hosts.toml job.toml";
  job.file = "job.toml";
  job.text = "[job]\nname = \"digits\"\n";
  job.hosts = parse_hosts(R"([[host]]
name = "big"
count = 3
gpus = 1
image = "lab/train:2"
node_selector = "pool=big"
volumes = "pictures:/data"
[[host.worker]]
[[host]]
name = "lead"
scheduler = true
port = 7171
[[host]]
name = "store"
servers = 1
memory = "4Gi"
)",
                          "hosts.toml", HostsUse::kubernetes);
  return job;
}

// The part of the text that describes a group.
std::string group_in(const std::string& text, const std::string& name) {
  const std::size_t begin = text.find("- name: " + name + "\n");
  const std::size_t end = text.find("replicas: ", text.find("replicas: ", begin) + 1);
  return text.substr(begin, end - begin);
}

TEST(JobSet, EachHostIsAGroupOfPods) {
  const std::string text = jobset_text(made_job(), {});
  EXPECT_THAT(
      group_in(text, "big"),
      AllOf(HasSubstr("replicas: 3"), HasSubstr("image: lab/train:2"), HasSubstr("nvidia.com/gpu: \"1\""),
            HasSubstr("pool: big"), HasSubstr("claimName: pictures"), HasSubstr("mountPath: /data\n")));
  EXPECT_THAT(group_in(text, "store"), AllOf(HasSubstr("replicas: 1"), HasSubstr("memory: \"4Gi\""),
                                             HasSubstr("image: steelyard:"), Not(HasSubstr("pictures"))));
}

TEST(JobSet, APodHasTheRolesOfItsHostAndTheKeysOfTheSecret) {
  const std::string text = jobset_text(made_job(), {});
  for (const auto& [group, role] : {std::pair("big", "worker"), {"lead", "scheduler"}, {"store", "server"}}) {
    const std::string part = group_in(text, group);
    for (const std::string it : {"scheduler", "server", "worker"}) {
      EXPECT_EQ(part.find("- --role=" + it + "\n") != std::string::npos, it == role) << group << " " << it;
      EXPECT_THAT(part, HasSubstr("mountPath: /etc/steelyard/keys/" + it + ".key\n"));
    }
    EXPECT_THAT(part, HasSubstr("secretName: digits-keys"));
  }
}

TEST(JobSet, MembersKnowHowManyTheyAre) {
  EXPECT_THAT(group_in(jobset_text(made_job(), {}), "big"),
              AllOf(HasSubstr("- --size=5\n"), HasSubstr("- --workers=3\n"),
                    HasSubstr("- --meet=digits-lead-0-0.digits:7171\n")));
}

TEST(JobSet, ExitCodesDecideWhatFollows) {
  EXPECT_THAT(
      group_in(jobset_text(made_job(), {}), "big"),
      AllOf(HasSubstr("values: [2, 76, 77, 78]"), HasSubstr("values: [75]"), HasSubstr("DisruptionTarget")));
}

TEST(JobSet, OnlyTheSchedulersRunDirectoryOutlivesItsPod) {
  const std::string text = jobset_text(made_job(), {"3Gi"});
  EXPECT_THAT(text, HasSubstr("storage: \"3Gi\""));
  EXPECT_THAT(group_in(text, "lead"), HasSubstr("claimName: digits-runs"));
  EXPECT_THAT(group_in(text, "big"), AllOf(HasSubstr("emptyDir: {}"), Not(HasSubstr("digits-runs"))));
}

// A runtime is used by jobs of any name, whose pods take it from a label.
TEST(TrainingRuntime, PodsTakeTheNameOfTheirJob) {
  const std::string text = training_runtime_text(made_job(), {});
  EXPECT_THAT(
      text, AllOf(HasSubstr("kind: ClusterTrainingRuntime"), HasSubstr("kind: TrainJob"),
                  HasSubstr("- \"--meet=$(JOBSET)-lead-0-0.$(JOBSET):7171\""),
                  HasSubstr("- \"--run-dir=/var/lib/steelyard/$(JOBSET)\""), HasSubstr("- name: JOBSET\n")));
}

TEST(JobSet, WorkersOfScriptsGetTheirSettings) {
  RenderedJob job = made_job();
  job.text.clear();
  job.file = "/app/train.py";
  job.settings = {"train.epochs=3"};
  job.hosts.hosts[0].workers[0].spec.threads = "4";
  job.hosts.hosts[0].workers[0].spec.device = "auto";
  const std::string text = jobset_text(job, {});
  EXPECT_THAT(group_in(text, "big"),
              AllOf(HasSubstr("- \"--set=worker.worker-$(TASK).threads=4\""),
                    HasSubstr("- --set=train.epochs=3\n"), Not(HasSubstr(".device="))));
  EXPECT_THAT(group_in(text, "lead"), Not(HasSubstr("worker.worker-")));
}

}  // namespace
}  // namespace steelyard::kubernetes_test
