// The plan of one task: which processes of a job it runs. N tasks are N workers; task 0 has the scheduler,
// too, and the first tasks have a server each. With replicas each server also mirrors a shard of another one
// (app/launch/launch_plan.h). Tasks of unequal groups are given their roles (--role).
//
// Pure: all tasks compute the same plan from the same command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/launch/launch_plan.h"
#include "app/member/meeting.h"
#include "app/member/task.h"

namespace steelyard {

struct MemberOptions {
  LaunchOptions launch;  // the job or script, and what its processes get
  std::string meet;
  TaskNumbers numbers;
  std::vector<std::string> roles;  // of this task; empty: those of its number
  std::uint32_t workers = 0;       // of the job, if tasks have other roles; 0: as many as tasks
  std::string keys, address;       // see MeetingOptions
  double wait = 300;               // seconds for the scheduler to answer
  double grace = 30;               // seconds from SIGTERM to SIGKILL
};

struct TaskRoles {
  bool scheduler = false, worker = false;
  std::uint32_t servers = 0;  // processes
  friend bool operator==(const TaskRoles&, const TaskRoles&) = default;
};
// Throws Failure (usage) for a role that does not exist.
TaskRoles roles_of(const Task& task, std::uint32_t servers, const std::vector<std::string>& given);

// The job with a worker for each task; those that the job does not describe are usual ones. `shards` is the
// number of each server. Without servers, GPU workers host the shards.
struct JobOfTasks {
  JobFile job;
  std::uint32_t servers = 1, shards = 1;
};
// Throws Failure (configuration) as read_job_file(), and if mirrors would be in the task of their primary.
JobOfTasks job_of_tasks(const MemberOptions& options, const Task& task);

// Whether a part of the model is in processes of this task.
bool has_shards(const MemberOptions& options, const Task& task, const JobOfTasks& job);

// The processes of this task; `listen` is the host to which their ports are bound. Throws Failure (usage) if
// it has no process.
LaunchPlan plan_of_task(const MemberOptions& options, const Task& task, const JobOfTasks& job,
                        const Meeting::Place& place, const std::string& listen);

// How long the processes may run after SIGTERM: some seconds of the grace remain to kill them.
Duration time_to_end(double grace);

}  // namespace steelyard
