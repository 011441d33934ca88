#include "app/hosts/doctor_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "app/config/prepare_job.h"
#include "app/hosts/conversation.h"
#include "app/hosts/host_report.h"
#include "app/launch/user_script.h"
#include "app/processes/processes.h"
#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/report/text_table.h"
#include "protocol/node.h"
#include "server/checkpoint/checkpoint.h"
#include "transport/address.h"

namespace steelyard {
namespace {

constexpr Duration for_ready = std::chrono::seconds(20), for_facts = std::chrono::minutes(5),
                   for_step = std::chrono::seconds(30);
constexpr int clock_readings = 3;
constexpr std::size_t most_speeds = 60;  // lines whose speed is measured, half a second each

double time_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What one host is asked to load, and how many of its processes do so.
struct Load {
  Json question;
  unsigned processes = 0;
};

std::vector<Load> loads_of(const HostSpec& host) {
  std::vector<Load> all;
  const auto add = [&](Json question) {
    const auto same = std::ranges::find_if(all, [&](const Load& it) {
      return it.question["data"] == question["data"] && it.question["device"] == question["device"] &&
             it.question["precision"] == question["precision"];
    });
    if (same == all.end()) return all.push_back({std::move(question), 1});
    ++same->processes;
  };
  for (const HostWorker& it : host.workers) {
    add({{"worker", it.spec.name},
         {"data", it.data_options},
         {"device", it.spec.device},
         {"precision", it.spec.precision}});
  }
  if (host.scheduler && all.empty())
    add({{"worker", "scheduler"}, {"data", Json::array()}, {"device", "cpu"}, {"precision", "float32"}});
  return all;
}

class Doctor {
 public:
  explicit Doctor(const LaunchOptions& options)
      : options_(options), hosts_(read_hosts_file(options.hosts_file.value())) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::optional<LaunchPlan> plan;
    if (options.script || !options.job_file.empty()) {
      job_ = job_for_hosts(options, hosts_);
      plan = make_launch_plan(options, hosts_, *job_, self);
    }
    report_.with_job = plan.has_value() && !options.script;
    for (const HostSpec& spec : hosts_.hosts) {
      reached_.push_back(reached(spec, self, {"examine"}));
      HostFacts& host = report_.hosts.emplace_back();
      host.name = spec.name;
      host.way = reached_.back().reach.title;
      if (plan) host.roles = plan->roles_on(spec.name);
    }
  }

  HostsReport run() {
    begin();
    ask_facts();
    read_clocks();
    try_lines();
    report_.judge();
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool there(std::size_t i) const {
    return conversations_[i] != nullptr && !conversations_[i]->failure();
  }

  void begin() {
    std::vector<Conversation*> all;
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      conversations_.emplace_back();
      try {
        require_reachable(reached_[i]);
        conversations_[i] = std::make_unique<Conversation>(reached_[i], report_.hosts[i].roles);
        all.push_back(conversations_[i].get());
      } catch (const Failure& why) {
        report_.hosts[i].problems.push_back({why.code(), why.what()});
      }
    }
    wait_for(all, for_ready, "no answer");
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      if (conversations_[i] == nullptr || lost(i)) continue;
      report_.hosts[i].answered = true;
      report_.hosts[i].release = text_at(*conversations_[i]->answer(), "ready");
    }
  }

  // Whether a host does not answer; if so, the report tells it.
  bool lost(std::size_t i) {
    const auto& why = conversations_[i]->failure();
    if (why && !told_lost_[i]) report_.hosts[i].problems.push_back({why->code(), why->what()});
    told_lost_[i] = why.has_value();
    return why.has_value();
  }

  // Asks these hosts at once. `take` gets each answer.
  void ask(const std::map<std::size_t, Json>& questions, Duration limit,
           const std::function<void(std::size_t, const Json&)>& take) {
    std::vector<Conversation*> all;
    for (const auto& [i, question] : questions) {
      if (!there(i)) continue;
      conversations_[i]->ask(question);
      all.push_back(conversations_[i].get());
    }
    wait_for(all, limit, "no answer to a question");
    for (const auto& [i, question] : questions)
      if (conversations_[i] != nullptr && !lost(i)) take(i, *conversations_[i]->answer());
  }

  // A problem of a host, unless the answer has no error.
  bool complain(std::size_t i, const Json& answer, const std::string& about = "") {
    const std::string error = text_at(answer, "error");
    if (error.empty()) return false;
    const auto code =
        static_cast<ExitCode>(number_at(answer, "code", static_cast<double>(ExitCode::configuration)));
    report_.hosts[i].problems.push_back({code, "host '" + report_.hosts[i].name + "': " + about + error});
    return true;
  }

  void ask_facts() {
    std::map<std::size_t, Json> questions;
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      const HostSpec& spec = reached_[i].spec;
      Json& question = questions[i] = {{"ask", "facts"}, {"directory", directory_on(spec)}};
      if (options_.script && !spec.workers.empty()) {
        question["python"] = command_of(*options_.script).front();
        question["script"] = options_.script->path;
      }
      if (!report_.with_job || (spec.workers.empty() && !spec.scheduler)) continue;
      question["job"] = job_->resolved;
      for (const Load& load : loads_of(spec)) question["loads"].push_back(load.question);
    }
    ask(questions, for_facts, [&](std::size_t i, const Json& answer) { take_facts(i, answer); });
    for (std::size_t i = 0; i < reached_.size(); ++i) add_needs(i);
  }

  void take_facts(std::size_t i, const Json& answer) {
    HostFacts& host = report_.hosts[i];
    const auto bytes = [&](const char* key) { return static_cast<std::uint64_t>(number_at(answer, key, 0)); };
    host.cores = static_cast<unsigned>(number_at(answer, "cores", 0));
    host.processor = text_at(answer, "processor");
    host.memory_free = bytes("memory_free");
    host.disk_free = bytes("disk_free");
    host.directory = text_at(answer, "place");
    for (const Json& it : answer.value("gpus", Json::array())) host.gpus.push_back(it.get<std::string>());
    if (complain(i, answer)) return;
    complain(i, {{"error", text_at(answer, "script")}});
    if (reached_[i].spec.scheduler && !answer.value("writable", false)) {
      complain(i, {{"error", "results cannot be written into " + host.directory +
                                 ": correct its permissions, or directory = in the hosts file"},
                   {"code", static_cast<int>(ExitCode::io)}});
    }
    const std::vector<Load> loads = loads_of(reached_[i].spec);
    const Json answers = answer.value("loads", Json::array());
    for (std::size_t k = 0; k < std::min(loads.size(), answers.size()); ++k) {
      const std::string worker = text_at(loads[k].question, "worker");
      const std::string about = worker == "scheduler" ? "" : "worker '" + worker + "': ";
      const bool named = text_at(answers[k], "error").starts_with("worker '");
      host.data = !complain(i, answers[k], named ? "" : about) && host.data.value_or(true);
      parameters_ = std::max(parameters_, number_at(answers[k], "parameters", 0));
      host.memory_needed +=
          static_cast<std::uint64_t>(number_at(answers[k], "bytes", 0)) * loads[k].processes;
    }
  }

  // What is known before the training: workers hold parameters and gradients, servers a version, the sum and
  // the state of the optimizer.
  void add_needs(std::size_t i) {
    if (!report_.with_job || parameters_ == 0) return;
    const HostSpec& spec = reached_[i].spec;
    const Job& job = job_->job;
    const double floats = parameters_ * sizeof(float);
    const double shards = static_cast<double>(spec.servers * spec.shards * (1 + job.replicas)) / job.shards;
    report_.hosts[i].memory_needed += static_cast<std::uint64_t>(
        floats * (2 * static_cast<double>(spec.workers.size()) + shards * (3 + state_slots(job))));
    if (spec.scheduler) {
      report_.hosts[i].disk_needed =
          static_cast<std::uint64_t>(floats * (1 + state_slots(job)) * (kept_checkpoints + 1));
    }
  }

  void read_clocks() {
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      HostFacts& host = report_.hosts[i];
      host.clock_error_s = HUGE_VAL;
      for (int k = 0; k < clock_readings && there(i); ++k) {
        const Time asked = steady_now();
        const double here = time_of_day();
        ask({{i, {{"ask", "clock"}}}}, for_step, [&](std::size_t, const Json& answer) {
          const double half = seconds(conversations_[i]->answered() - asked) / 2;
          if (half >= host.clock_error_s) return;
          host.clock_error_s = half;
          host.clock_offset_s = number_at(answer, "seconds", 0) - here - half;
        });
      }
    }
  }

  // An endpoint on a host that listens, and the hosts that connect to it.
  struct Target {
    std::size_t host;
    std::string port;
    std::function<bool(const HostSpec&)> from;
  };

  void try_lines() {
    for (const Target& target : listening()) {
      const HostSpec& to = reached_[target.host].spec;
      std::map<std::size_t, Json> questions;
      for (std::size_t i = 0; i < reached_.size(); ++i)
        if (target.from(reached_[i].spec)) questions[i] = question_to(target, false);
      ask(questions, for_step, [&](std::size_t i, const Json& answer) {
        LineFacts line{reached_[i].spec.name, to.name, with_port(to.address, target.port), {}};
        line.round_trip_s = number_at(answer, "round_trip_s", 0);
        if (const std::string error = text_at(answer, "error"); !error.empty()) {
          line.problem = Problem{ExitCode::unreachable, "host '" + line.from + "' cannot connect to host '" +
                                                            line.to + "' at " + line.endpoint + ": " + error};
        }
        if (line.from == line.to && !line.problem) return;  // there is no line
        report_.lines.push_back(std::move(line));
        if (!report_.lines.back().problem) speeds_.push_back({report_.lines.size() - 1, i, target});
      });
    }
    if (speeds_.size() > most_speeds) return;
    for (const auto& [number, from, target] : speeds_) {
      ask({{from, question_to(target, true)}}, for_step, [&, line = number](std::size_t, const Json& answer) {
        report_.lines[line].there_bytes_s = number_at(answer, "there_bytes_s", 0);
        report_.lines[line].back_bytes_s = number_at(answer, "back_bytes_s", 0);
      });
    }
  }

  [[nodiscard]] Json question_to(const Target& target, bool speed) const {
    return {{"ask", "connect"},
            {"host", reached_[target.host].spec.address},
            {"port", target.port},
            {"token", token_},
            {"speed", speed ? 1 : 0}};
  }

  // Servers and workers connect to the scheduler, workers to servers, mirrors to shards.
  std::vector<Target> listening() {
    std::vector<Target> targets;
    const bool mirrors = job_ && job_->job.replicas > 0;
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      const HostSpec& spec = reached_[i].spec;
      const auto listen = [&](const std::string& port, std::function<bool(const HostSpec&)> from) {
        const Json question{{"ask", "listen"}, {"host", spec.listen}, {"port", port}, {"token", token_}};
        ask({{i, question}}, for_step, [&](std::size_t, const Json& answer) {
          const bool failed = complain(i, answer);
          report_.hosts[i].ports = !failed && report_.hosts[i].ports.value_or(true);
          const auto bound = static_cast<unsigned>(number_at(answer, "port", 0));
          if (!failed) targets.push_back({i, std::to_string(bound), std::move(from)});
        });
      };
      if (spec.scheduler) listen(std::to_string(spec.port), [](const HostSpec&) { return true; });
      const bool hosts_shards = job_ && job_->shards_per_worker > 0 && spec.can_host();
      if (spec.servers == 0 && !hosts_shards) continue;
      listen("0", [=](const HostSpec& it) { return !it.workers.empty() || (mirrors && it.servers > 0); });
    }
    return targets;
  }

  struct Speed {
    std::size_t line, from;
    Target target;
  };

  const LaunchOptions& options_;
  const HostsFile hosts_;
  std::optional<JobFile> job_;
  const std::string token_ =
      printed("%016llx", static_cast<unsigned long long>(new_node(Role::worker).number));
  std::vector<LaunchHost> reached_;
  HostsReport report_;
  double parameters_ = 0;
  std::map<std::size_t, bool> told_lost_;
  std::vector<Speed> speeds_;
  std::vector<std::unique_ptr<Conversation>> conversations_;
};

}  // namespace

int run_doctor(const DoctorCommand& command) {
  check_output("--json", command.json);
  const HostsReport report = Doctor(command.launch).run();
  if (!command.json.empty()) write_output("--json", command.json, dump_json(json_of(report), 1) + "\n");
  if (command.json != "-") std::fputs(table_of(report, width_of_output()).c_str(), stdout);
  std::fflush(stdout);
  for (const Problem& it : report.problems())
    standard_error().line((it.warning ? "steelyard: warning: " : "steelyard: ") + shown_lines(it.text));
  if (report.code() == ExitCode::ok && command.json != "-")
    std::printf("\nall that `steelyard launch` needs is there\n");
  return static_cast<int>(report.code());
}

}  // namespace steelyard
