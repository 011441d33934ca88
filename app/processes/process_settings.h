// What a process of each role is told when it is started: plain values. How people give them is in
// app/processes/process_keys.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/config/job_file.h"
#include "transport/reserved_port.h"

namespace steelyard {

// Where a run leaves its results, and what it goes on from.
struct ResultOptions {
  std::string directory;    // empty: runs/<name>-N
  bool resume = false;      // from the newest checkpoint of the directory
  std::string resume_from;  // or from this checkpoint
  bool tensorboard = false;
  std::string web;     // where its page is while it trains (app/web/place.h); empty: nowhere
  bool ready = false;  // whoever starts the scheduler has made the directory,
  int lock = -1;       // and has its lock open under this number (app/processes/run_journal.h)
};

struct SchedulerOptions {
  std::string listen = "127.0.0.1:7070";
  std::string keys;  // directory or file (transport/security/key_files.h); empty: plain text. Likewise below.
  ResultOptions results;
  std::string trace;     // directory for app/report/trace_file.h; empty: none. Likewise below.
  bool recover = false;  // the scheduler of results.directory was killed: go on where it was
  std::shared_ptr<ReservedPort> port{};  // to listen on, which a standby has held; null: it is bound then
  bool quiet = false;
  bool insecure = false;
};

// A scheduler in waiting: it leads when the one that it follows is lost.
struct StandbyOptions {
  std::string scheduler;  // that it follows
  SchedulerOptions lead;  // what it is as soon as it leads
  double wait = 60;       // seconds for the scheduler to answer
};

// Whether values are left in shared memory for processes of the same host and user to read there: "auto" if
// that works, or "sockets" (transport/shared_memory/shared_memory_transfer.h).
inline const std::vector<std::string> exchanges{"auto", "sockets"};

struct ServerOptions {
  std::string scheduler;
  std::string name;
  std::string listen = "127.0.0.1:*";
  std::string keys;
  std::string advertise;  // host under which workers reach it; empty: found out
  unsigned shards = 1;
  unsigned mirrors = 0;  // further threads, each with a copy of what another server's shard holds
  std::string exchange = exchanges.front();
  double wait = 60;  // seconds for the scheduler to answer
  std::string trace;
  std::uint64_t fingerprint = 0;  // of the only job that it takes part in; 0: any
  bool quiet = false;
  bool insecure = false;
};

struct WorkerOptions {
  std::string scheduler;
  WorkerSpec spec;
  std::vector<std::string> data_options;  // key=value, replacing the job's
  std::string keys;
  std::string exchange = exchanges.front();
  double wait = 60;
  std::string trace;
  std::uint64_t fingerprint = 0;
  bool quiet = false;
};

}  // namespace steelyard
