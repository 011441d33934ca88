#include "app/launch/user_script.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "app/config/prepare_job.h"
#include "app/config/reach.h"
#include "app/config/schema.h"
#include "app/processes/process_keys.h"
#include "core/device_name.h"
#include "core/error.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* where_jobs_come_from = "the command line";
constexpr std::size_t longest_job_name = 64;

bool is_python(const ScriptOptions& script) { return script.path.ends_with(".py"); }

// "train" of "jobs/train.py".
std::string job_name(const ScriptOptions& script) {
  std::string name = fs::path(script.path).stem().string().substr(0, longest_job_name);
  std::ranges::replace_if(
      name, [](char c) { return !is_plain_name(std::string("a") + c); }, '_');
  if (!is_plain_name(name) && !name.empty()) name[0] = '_';
  return name.empty() ? "job" : name;
}

std::string job_text(const ScriptOptions& script, const ClusterSpec* cluster) {
  std::string text = "[job]\nname = " + steelyard::toml_quoted(job_name(script)) +
                     "\n[model]\nname = " + steelyard::toml_quoted(external_model) +
                     "\n[cluster]\nservers = 1\n";
  const unsigned workers = cluster == nullptr ? script.workers : 1;  // the cluster's workers replace it
  for (unsigned i = 0; i < workers; ++i) {
    text += "[[worker]]\nname = " + steelyard::toml_quoted("worker-" + std::to_string(i)) +
            "\ndevice = " + steelyard::toml_quoted(automatic_device) + "\n";
  }
  return text;
}

// Adds "./" to a bare file name, so that exec does not search PATH.
std::string as_path(const std::string& file) {
  return file.find('/') == std::string::npos ? "./" + file : file;
}

// All keys of a script are texts.
const std::string& text_of(const Key& key) { return **std::get_if<std::string*>(&key.field); }

}  // namespace

bool is_script(const std::string& file) { return !file.ends_with(".toml"); }

JobFile job_for_script(const LaunchOptions& options, const ClusterSpec* cluster) {
  JobFile file =
      parse_job(job_text(*options.script, cluster), where_jobs_come_from, options.overrides, cluster);
  if (file.job.model != external_model) {
    refuse_usage("--set model.name=" + file.job.model +
                 ": a script brings its own model: leave it out, or train a job file with `steelyard train`");
  }
  if (file.shards_per_worker > 0)
    refuse_setup(
        "servers = \"workers\" in [cluster]: workers that are scripts host no shards: give a number of "
        "servers");
  std::ranges::copy(notices_of(*options.script), std::back_inserter(file.notices));
  return file;
}

std::vector<std::string> command_of(const ScriptOptions& script) {
  std::vector<std::string> words{as_path(script.path)};
  if (is_python(script)) {
    const char* python = std::getenv("STEELYARD_PYTHON");
    const bool given = python != nullptr && *python != '\0';
    words = {given ? python : "python3", "-u", script.path};
  }
  words.insert(words.end(), script.arguments.begin(), script.arguments.end());
  return words;
}

std::vector<std::string> environment_of(const HostWorker& worker, const std::string& scheduler,
                                        const std::string& exchange) {
  WorkerOptions given, usual;
  given.spec = worker.spec;
  given.exchange = exchange;
  const std::vector<Key> keys = process_keys(given), defaults = process_keys(usual);
  const auto demand = [&](bool holds, const std::string& what) {
    if (!holds)
      refuse_setup(
          "worker '" + worker.spec.name + "': " + what +
          " is not for scripts: they accept only name, device, simulate_slowdown and threads; leave it out");
  };
  demand(worker.data_options.empty(), "data");
  std::vector<std::string> all{"STEELYARD=" + scheduler};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Key& key = keys[i];
    // The default of a script is to choose its device itself.
    const std::string usually =
        key.name == "device" ? toml_quoted(automatic_device) : value_text(defaults[i]);
    if (key.name == "threads" || value_text(key) == usually) continue;
    demand(key.elsewhere.of_scripts || key.elsewhere.environment, key.name + " = " + value_text(key));
    all.push_back(variable_name(key.name) + "=" + text_of(key));
  }
  const WorkerSpec& it = worker.spec;
  const bool counted = it.threads.find_first_not_of("0123456789") == std::string::npos;
  if (counted && it.threads != usual.spec.threads) all.push_back("OMP_NUM_THREADS=" + it.threads);
  return all;
}

void require_script(const ScriptOptions& script, const std::string& directory) {
  const fs::path path = fs::path(directory) / script.path;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    refuse_setup("there is no script " + path.string() +
                 ": correct its path, and give options of steelyard before it");
  }
  if (is_python(script)) {
    const std::string python = command_of(script).front();
    if (is_runnable(python)) return;
    refuse_setup("there is no " + python + " to run " + script.path +
                 ": install Python, or give its path in STEELYARD_PYTHON");
  }
  if (!is_runnable(as_path(path.string()))) {
    refuse_setup("the script " + path.string() + " is not executable: run chmod +x " + path.string() +
                 "; Python runs a script with a name that ends in .py");
  }
}

std::vector<std::string> notices_of(const ScriptOptions& script) {
  if (!is_python(script)) return {};
  std::ifstream file(script.path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty() || text.find("steelyard") != std::string::npos) return {};
  return {script.path +
          " does not mention steelyard: each of its processes trains on its own unless it joins the "
          "job; call steelyard.torch.join() in it, or run it without `steelyard run`"};
}

std::string remedy_for_not_joining(const ScriptOptions& script) {
  const std::string what = is_python(script) ? "call steelyard.torch.join() in it" : "join the job in it";
  return script.path + " has not joined the job: " + what + ", or run it without `steelyard run`";
}

std::string remedy_for_missing_module(const std::string& python, const std::string& output) {
  constexpr std::string_view before = "ModuleNotFoundError: No module named '";
  const auto found = output.rfind(before);
  if (found == std::string::npos) return "";
  const auto begin = found + before.size(), end = output.find('\'', begin);
  if (end == std::string::npos) return "";
  return python + " has no module " + output.substr(begin, end - begin) +
         ": install it there, or set STEELYARD_PYTHON to the path of the Python that has it";
}

}  // namespace steelyard
