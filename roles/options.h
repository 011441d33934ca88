// What a process of each role is told when it is started: plain values. How they stand on a command line is
// launch/process_options.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/job_file.h"

namespace steelyard {

// Where a run leaves its results, and what it goes on from.
struct ResultOptions {
  std::string directory;    // empty: runs/<name>-N
  bool resume = false;      // from the newest checkpoint of the directory
  std::string resume_from;  // or from this checkpoint
  bool ready = false;       // whoever starts the scheduler has made the directory,
  int lock = -1;            // and has its lock open under this number (roles/run_lock.h)
};

struct SchedulerOptions {
  std::string listen = "127.0.0.1:7070";
  ResultOptions results;
  bool quiet = false;
  bool insecure = false;
};

struct ServerOptions {
  std::string scheduler;
  std::string name;
  std::string listen = "127.0.0.1:*";
  std::string advertise;  // host under which workers reach it; empty: found out
  unsigned shards = 1;
  double wait = 60;               // seconds for the scheduler to answer
  std::uint64_t fingerprint = 0;  // of the only job that it takes part in; 0: any
  bool quiet = false;
  bool insecure = false;
};

struct WorkerOptions {
  std::string scheduler;
  WorkerSpec spec;
  std::vector<std::string> data_options;  // key=value, replacing the job's
  double wait = 60;
  std::uint64_t fingerprint = 0;
  bool quiet = false;
};

}  // namespace steelyard
