// The settings of each kind of process, as plain values. app/processes/process_keys.h defines how users give
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/config/job_file.h"
#include "transport/reserved_port.h"

namespace steelyard {

// Where a run writes its results, and from which checkpoint it continues.
struct ResultOptions {
  std::string directory;    // empty: runs/<name>-N
  bool resume = false;      // from the newest checkpoint of the directory
  std::string resume_from;  // or from this checkpoint
  bool tensorboard = false;
  double rotate_mb = 256;  // size from which rounds.jsonl is continued in a new file; 0: never
  std::string web;         // endpoint of its page while it trains (app/web/place.h); empty: no page
  bool ready = false;      // the parent process has made the directory,
  int lock = -1;           // and passes its open lock file as this descriptor (app/processes/run_journal.h)
};

struct SchedulerOptions {
  std::string listen = "127.0.0.1:7070";
  std::string keys;  // directory or file (transport/security/key_files.h); empty: plain text. Likewise below.
  ResultOptions results;
  std::string trace;     // directory for app/report/trace_file.h; empty: none. Likewise below.
  bool recover = false;  // continue the job in results.directory after its scheduler was killed
  std::shared_ptr<ReservedPort> port{};  // the port that a standby has reserved; null: bind one
  bool quiet = false;
  bool insecure = false;
};

// A standby scheduler: it leads if the scheduler that it follows is lost.
struct StandbyOptions {
  std::string scheduler;  // that it follows
  SchedulerOptions lead;  // its options once it leads
  double wait = 60;       // seconds for the scheduler to answer
};

// How values travel between processes of the same host and user: "auto" (shared memory if it works) or
// "sockets" (transport/shared_memory/shared_memory_transfer.h).
inline const std::vector<std::string> exchanges{"auto", "sockets"};

struct ServerOptions {
  std::string scheduler;
  std::string name;
  std::string listen = "127.0.0.1:*";
  std::string keys;
  std::string advertise;  // host at which workers reach it; empty: determined automatically
  unsigned shards = 1;
  unsigned mirrors = 0;  // further threads, each mirroring a shard of another server
  std::string exchange = exchanges.front();
  double wait = 60;  // seconds for the scheduler to answer
  std::string trace;
  std::uint64_t fingerprint = 0;  // of the only job that it joins; 0: any
  bool quiet = false;
  bool insecure = false;
};

struct WorkerOptions {
  std::string scheduler;
  WorkerSpec spec;
  unsigned shards = 0;                    // of the model, hosted on its GPU
  std::string listen = "127.0.0.1:*";     // for them
  std::string advertise;                  // likewise; empty: determined automatically
  std::vector<std::string> data_options;  // key=value, replacing the job's
  std::string keys;
  std::string exchange = exchanges.front();
  double wait = 60;
  std::string trace;
  std::uint64_t fingerprint = 0;
  bool quiet = false;
  bool insecure = false;  // the shards listen without keys, beyond this machine
};

}  // namespace steelyard
