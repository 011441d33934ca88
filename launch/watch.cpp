#include "launch/watch.h"

#include <utility>

namespace steelyard {
namespace {

using Kind = LaunchProcess::Kind;

std::vector<Supervision::Process> supervised(const LaunchPlan& plan) {
  std::vector<Supervision::Process> all;
  for (const LaunchProcess& it : plan.processes) {
    const bool scheduler = it.kind == Kind::scheduler;
    const Role role = scheduler ? Role::scheduler : it.kind == Kind::server ? Role::shard : Role::worker;
    const std::string what = scheduler ? "the scheduler" : "process '" + it.name + "'";
    all.push_back({it.name, role, what + " on host '" + it.host + "'"});
  }
  return all;
}

}  // namespace

LaunchWatch::LaunchWatch(const LaunchPlan& plan)
    : plan_(plan), supervision_(supervised(plan), [] {
        return "--run-dir and --resume go on from the last checkpoint, if one was written";
      }) {}

bool LaunchWatch::host_ready(const std::string& host) { return ready_.insert(host).second && started(); }

Steps LaunchWatch::host_lost(const std::string& host, const Failure& why) {
  Steps steps;
  if (!started()) {
    steps.says.emplace_back(why.what());
    steps.code = static_cast<int>(why.code());
    return steps;
  }
  if (!interrupted_) steps.says.emplace_back(why.what());
  for (const LaunchProcess& it : plan_.processes) {
    if (it.host != host) continue;
    if (it.kind == Kind::scheduler) steps.code = static_cast<int>(ExitCode::unreachable);
    steps.add(supervision_.lost(it.name));
  }
  return steps;
}

Steps LaunchWatch::interrupted() {
  interrupted_ = true;
  Steps steps = supervision_.interrupted();
  if (!started()) steps.code = static_cast<int>(ExitCode::temporary);
  return steps;
}

Steps LaunchWatch::wake(Time now) { return started() ? supervision_.wake(now) : Steps{}; }

}  // namespace steelyard
