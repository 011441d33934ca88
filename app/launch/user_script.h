// Script: a user's program that is run as the workers of a job. It brings model and data and joins the job
// through the C interface (include/steelyard/steelyard.h), as the Python package does. The job has an
// external model, which the first worker describes. `steelyard run SCRIPT` starts it on this machine,
// `steelyard launch HOSTS SCRIPT` on many.
//
// Environment of a script's process:
//
//   STEELYARD            the scheduler's endpoint
//   STEELYARD_NAME       the worker's name
//   STEELYARD_DEVICE     its device, as in a job file; not set for "auto"
//   STEELYARD_LOCAL_WORKER  "I/N": it is the I-th, from 0, of N workers of its host with the device "auto";
//                        not set for others
//   STEELYARD_SIMULATE_SLOWDOWN       its slowdown factor; not set for "1"
//   STEELYARD_EXCHANGE   the value of --exchange; not set for "auto"
//   STEELYARD_TRACE      the directory for its trace (app/report/trace_file.h); not set without --trace
//   OMP_NUM_THREADS      its threads, if a number above 1; otherwise, unless the user has set it, its part of
//                        the cores that it may use (LocalHost)
#pragma once

#include <string>
#include <vector>

#include "app/config/hosts_file.h"
#include "app/launch/launch_plan.h"

namespace steelyard {

bool is_script(const std::string& file);  // not a job file: its name does not end in .toml

// The job as given on the command line: servers, workers and --set. It is named after the script. Throws
// Failure (usage) for a --set of another model, (configuration) as read_job_file() does.
JobFile job_for_script(const LaunchOptions& options, const ClusterSpec* cluster = nullptr);

// The program and its arguments. A Python script is run by $STEELYARD_PYTHON, or python3, with unbuffered
// output; any other script is executed directly.
std::vector<std::string> command_of(const ScriptOptions& script);

// NAME=value. Throws Failure (configuration) for settings that only built-in workers have.
std::vector<std::string> environment_of(const HostWorker& worker, const std::string& scheduler,
                                        const std::string& exchange);

// Throws Failure (configuration) unless the script and its interpreter exist. Relative paths start in
// `directory` on this machine (empty: the current one).
void require_script(const ScriptOptions& script, const std::string& directory = "");

// A warning if a Python script does not mention this package, and so may never join the job. Empty if the
// file cannot be read here.
std::vector<std::string> notices_of(const ScriptOptions& script);
// What to do about a script that exited without joining the job.
std::string remedy_for_not_joining(const ScriptOptions& script);
// What to do about a Python that lacks a module, if the output of a script ends with such an error; otherwise
// empty. `python` is its interpreter.
std::string remedy_for_missing_module(const std::string& python, const std::string& output);

}  // namespace steelyard
