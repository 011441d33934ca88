// Script: a program of the user whose processes are the workers of a job. It brings model and data and speaks
// to the job through the C interface (include/steelyard/steelyard.h), as the Python package does; the job is
// one with an external model, which the first worker completes. `steelyard run SCRIPT` starts it on this
// machine, `steelyard launch HOSTS SCRIPT` on many.
//
// A script's process finds in its environment:
//
//   STEELYARD            the scheduler's endpoint
//   STEELYARD_NAME       the worker's name
//   STEELYARD_DEVICE     what it computes on, as in a job file; not set for "auto"
//   STEELYARD_SIMULATE_SLOWDOWN       what slows it down; not set for "1"
//   STEELYARD_EXCHANGE   as --exchange says; not set for "auto"
//   STEELYARD_TRACE      the directory for its trace (app/report/trace_file.h); not set: none
//   OMP_NUM_THREADS      its threads, if a number above 1; else, where the user has not set it, its part of
//                        the cores that it may use (LocalHost)
#pragma once

#include <string>
#include <vector>

#include "app/config/hosts_file.h"
#include "app/launch/launch_plan.h"

namespace steelyard {

bool is_script(const std::string& file);  // and no job file: its name does not end in .toml

// The job as far as the command line tells it: servers and workers, and what --set says. It is called like
// the script. Throws Failure (usage) for a --set of another model, (configuration) as read_job_file does.
JobFile job_for_script(const LaunchOptions& options, const ClusterSpec* cluster = nullptr);

// The program and its arguments. A script in Python is run by $STEELYARD_PYTHON, or python3, without a buffer
// for what it prints; any other one by itself.
std::vector<std::string> command_of(const ScriptOptions& script);

// NAME=value. Throws Failure (configuration) for what only workers of ours can be told.
std::vector<std::string> environment_of(const HostWorker& worker, const std::string& scheduler,
                                        const std::string& exchange);

// Throws Failure (configuration) unless the script and what runs it are there, as seen from a directory of
// this machine (empty: this one).
void require_script(const ScriptOptions& script, const std::string& directory = "");

// Whether a program, or a name that is looked up in PATH, is there to be run.
bool is_runnable(const std::string& program);

}  // namespace steelyard
