// What a process of each role is told when it is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

struct SchedulerCommand {
  std::string job_file;
  std::vector<std::string> overrides;
  std::string listen = "127.0.0.1:7070";
  std::string run_directory;
  bool run_directory_ready = false;  // `train` has made it
  int run_directory_lock = -1;       // and has its lock under this number (roles/run_lock.h)
  bool resume = false;
  std::string resume_from;
  bool insecure = false;
  bool quiet = false;
};

struct ServerCommand {
  std::string scheduler;
  std::string listen = "127.0.0.1:*";
  std::string advertise;  // host under which workers reach it; empty: found out
  std::string name;
  std::string job_file;  // optional: refuse any other job
  unsigned shards = 1;
  double wait = 60;
  bool insecure = false;
  bool quiet = false;
};

struct WorkerCommand {
  std::string scheduler;
  std::string name;
  std::string device = "cpu";
  std::string job_file;
  std::vector<std::string> data_options;  // key=value, replacing the job's
  std::string slow = "1", cpu = "1";      // a Throttle
  std::uint64_t max_batch = 0;
  double wait = 60;
  bool quiet = false;
};

}  // namespace steelyard
