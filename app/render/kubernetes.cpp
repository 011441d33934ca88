#include "app/render/kubernetes.h"

#include <utility>
#include <vector>

#include "app/render/member_command.h"
#include "app/render/yaml.h"
#include "core/processor.h"  // release

namespace steelyard {
namespace {

constexpr const char* container = "steelyard";
constexpr const char* job_folder = "/etc/steelyard/job";
constexpr const char* key_folder = "/etc/steelyard/keys";
constexpr const char* run_folder = "/var/lib/steelyard";

// Pods can write to their claim, and read their keys, whatever user the image has: volumes belong to this
// group. It is also that of the image that `script/package image` builds.
constexpr int group = 10001;

// Codes after which a new start ends in the same way: usage, another release, no permission, configuration.
constexpr int final_codes[] = {2, 76, 77, 78};
constexpr int again_code = 75;

// Failures of pods that are counted, until their group counts as failed; and such failures of the set.
constexpr int most_pod_failures = 20, most_restarts = 10;

std::string job_object(const RenderedJob& job) { return job.name + "-job"; }
std::string key_object(const RenderedJob& job) { return job.name + "-keys"; }
std::string run_object(const RenderedJob& job) { return job.name + "-runs"; }

Json object(const char* version, const char* kind, const std::string& name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", {{"name", name}}}};
}

Json config_map(const RenderedJob& job) {
  Json map = object("v1", "ConfigMap", job_object(job));
  map["data"] = {{"job.toml", job.text}};
  return map;
}

Json claim(const RenderedJob& job, const KubernetesOptions& options) {
  Json it = object("v1", "PersistentVolumeClaim", run_object(job));
  it["spec"] = {{"accessModes", {"ReadWriteOnce"}},
                {"resources", {{"requests", {{"storage", options.storage}}}}}};
  return it;
}

// Cards are requested as limits only; processors and memory are reserved, and memory is also the limit.
Json resources(const MachineRequest& machines) {
  Json requests = Json::object(), limits = Json::object();
  if (machines.cpus > 0) requests["cpu"] = std::to_string(machines.cpus);
  if (!machines.memory.empty()) requests["memory"] = limits["memory"] = machines.memory;
  if (machines.gpus > 0) limits["nvidia.com/gpu"] = std::to_string(machines.gpus);
  Json both = Json::object();
  if (!requests.empty()) both["requests"] = requests;
  if (!limits.empty()) both["limits"] = limits;
  return both;
}

// The volumes of a pod, and where its container mounts them.
struct Volumes {
  Json all = Json::array(), mounts = Json::array();

  void add(const std::string& name, const char* kind, Json source) {
    all.push_back({{"name", name}, {kind, std::move(source)}});
  }
  void mount(const std::string& name, const std::string& path) {
    mounts.push_back({{"name", name}, {"mountPath", path}});
  }
  // `file` of the volume, if not empty; the path is then that of a file.
  void mount_read_only(const std::string& name, const std::string& path, const std::string& file = "") {
    mount(name, path);
    if (!file.empty()) mounts.back()["subPath"] = file;
    mounts.back()["readOnly"] = true;
  }
};

// A key for each role, which `member` needs to admit the right ones. Files are mounted one by one: in the
// folder of a secret they would be symbolic links.
void add_keys(Volumes& volumes, const RenderedJob& job) {
  Json items = Json::array();
  for (const char* role : {"scheduler", "server", "worker"}) {
    const std::string file = std::string(role) + ".key";
    items.push_back({{"key", file}, {"path", file}});
    volumes.mount_read_only("keys", std::string(key_folder) + "/" + file, file);
  }
  volumes.add("keys", "secret", {{"secretName", key_object(job)}, {"defaultMode", 0400}, {"items", items}});
}

Volumes volumes_of(const RenderedJob& job, const HostSpec& host) {
  Volumes volumes;
  add_keys(volumes, job);
  if (!job.is_script()) {
    volumes.add("job", "configMap", {{"name", job_object(job)}});
    volumes.mount_read_only("job", job_folder);
  }
  if (host.scheduler) {
    volumes.add("runs", "persistentVolumeClaim", {{"claimName", run_object(job)}});
  } else {
    volumes.add("runs", "emptyDir", Json::object());
  }
  volumes.mount("runs", run_folder);
  for (const auto& [claim, path] : pairs_in(host.machines.volumes, ':')) {
    volumes.add(claim, "persistentVolumeClaim", {{"claimName", claim}, {"readOnly", true}});
    volumes.mount_read_only(claim, path);
  }
  return volumes;
}

// Variables for the arguments, from labels that the controller of JobSets gives to each pod.
Json variable(const char* name, const std::string& label) {
  const Json field{{"fieldPath", "metadata.labels['jobset.sigs.k8s.io/" + label + "']"}};
  return {{"name", name}, {"valueFrom", {{"fieldRef", field}}}};
}

// `set` is the name of the set; for a runtime the variable that has it, since each of its jobs has a name.
Json container_of(const RenderedJob& job, const HostSpec& host, const std::string& set,
                  const Volumes& volumes) {
  const MachineRequest& machines = host.machines;
  Json it{{"name", container},
          {"image", machines.image.empty() ? std::string("steelyard:") + release() : machines.image}};
  // The headless service of the set gives this name to the pod of the scheduler.
  const HostSpec& scheduler = job.hosts.scheduler();
  const std::string meet = set + "-" + scheduler.name + "-0-0." + set + ":" + std::to_string(scheduler.port);
  const std::string file = job.is_script() ? job.file : std::string(job_folder) + "/job.toml";
  it["args"] =
      member_arguments(job, host, {file, meet, key_folder, std::string(run_folder) + "/" + set, "$(TASK)"});
  it["env"] = Json::array({variable("TASK", "job-global-index")});
  if (set != job.name) it["env"].push_back(variable("JOBSET", "jobset-name"));
  if (Json wanted = resources(machines); !wanted.empty()) it["resources"] = std::move(wanted);
  it["securityContext"] = {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}};
  it["volumeMounts"] = volumes.mounts;
  return it;
}

Json pod_of(const RenderedJob& job, const HostSpec& host, const std::string& set) {
  const Volumes volumes = volumes_of(job, host);
  Json pod{{"restartPolicy", "Never"},
           {"terminationGracePeriodSeconds", job.grace_s},
           {"automountServiceAccountToken", false},
           {"enableServiceLinks", false}};
  Json labels = Json::object();
  for (const auto& [label, value] : pairs_in(host.machines.node_selector, '=')) labels[label] = value;
  if (!labels.empty()) pod["nodeSelector"] = labels;
  pod["securityContext"] = {{"fsGroup", group}, {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  pod["containers"] = Json::array({container_of(job, host, set, volumes)});
  pod["volumes"] = volumes.all;
  return pod;
}

// The first rule that matches applies.
Json failure_rules() {
  const auto on_codes = [&](const char* action, Json codes) -> Json {
    return {
        {"action", action},
        {"onExitCodes", {{"containerName", container}, {"operator", "In"}, {"values", std::move(codes)}}}};
  };
  const Json drained{{"type", "DisruptionTarget"}, {"status", "True"}};
  return {{"rules", Json::array({on_codes("FailJob", final_codes),
                                 on_codes("Ignore", Json::array({again_code})),
                                 {{"action", "Ignore"}, {"onPodConditions", Json::array({drained})}}})}};
}

// Each pod is a job of its own: so it has a number in the whole set, and its failures are counted apart.
Json group_of(const RenderedJob& job, const HostSpec& host, const std::string& set) {
  Json spec{{"completionMode", "Indexed"},
            {"completions", 1},
            {"parallelism", 1},
            {"backoffLimit", most_pod_failures},
            {"podFailurePolicy", failure_rules()},
            {"podReplacementPolicy", "Failed"},
            {"template", {{"spec", pod_of(job, host, set)}}}};
  return {{"name", host.name}, {"replicas", host.machines.count}, {"template", {{"spec", std::move(spec)}}}};
}

// The job has finished when the scheduler has. If a pod has failed too often, all are started again, and the
// scheduler continues where it was.
Json set_spec(const RenderedJob& job, const std::string& set) {
  const Json final{{"name", "finalExitCode"},
                   {"action", "FailJobSet"},
                   {"onJobFailureReasons", Json::array({"PodFailurePolicy"})}};
  Json groups = Json::array();
  for (const HostSpec& host : job.hosts.hosts) groups.push_back(group_of(job, host, set));
  return {{"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
          {"successPolicy",
           {{"operator", "All"}, {"targetReplicatedJobs", Json::array({job.hosts.scheduler().name})}}},
          {"failurePolicy", {{"maxRestarts", most_restarts}, {"rules", Json::array({final})}}},
          {"replicatedJobs", groups}};
}

std::string objects_text(const RenderedJob& job, const std::string& what, const std::vector<Json>& objects) {
  const std::string keys = key_object(job);
  std::string text = "# " + what + ", rendered by\n#   " + job.origin +
                     "\n# It needs a secret with keys, which is made once:\n"
                     "#   for role in scheduler server worker; do steelyard keys new " +
                     keys + " $role; done\n#   kubectl create secret generic " + keys +
                     " --from-file=" + keys + "\n";
  for (const Json& it : objects) text += (&it == &objects.front() ? "" : "---\n") + yaml_text(it);
  return text;
}

// What the pods mount. The claim outlives the set, and the results with it.
std::vector<Json> inputs_of(const RenderedJob& job, const KubernetesOptions& options) {
  std::vector<Json> all;
  if (!job.is_script()) all.push_back(config_map(job));
  all.push_back(claim(job, options));
  return all;
}

}  // namespace

std::string jobset_text(const RenderedJob& job, const KubernetesOptions& options) {
  std::vector<Json> objects = inputs_of(job, options);
  Json set = object("jobset.x-k8s.io/v1alpha2", "JobSet", job.name);
  set["spec"] = set_spec(job, job.name);
  objects.push_back(std::move(set));
  return objects_text(job, "A JobSet for Kubernetes", objects);
}

std::string training_runtime_text(const RenderedJob& job, const KubernetesOptions& options) {
  std::vector<Json> objects = inputs_of(job, options);
  Json runtime = object("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", job.name);
  runtime["spec"] = {{"template", {{"spec", set_spec(job, "$(JOBSET)")}}}};
  Json run = object("trainer.kubeflow.org/v1alpha1", "TrainJob", job.name);
  run["spec"] = {
      {"runtimeRef",
       {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "ClusterTrainingRuntime"}, {"name", job.name}}}};
  objects.push_back(std::move(runtime));
  objects.push_back(std::move(run));
  return objects_text(job, "A runtime and a job for Kubeflow Trainer", objects);
}

}  // namespace steelyard
