// The results of a run whose scheduler is on a host with files of its own: where they are, how to bring them
// here, and the page of `--web` there.
#pragma once

#include <string>

#include "app/launch/children.h"
#include "app/launch/launch_host.h"
#include "app/report/run_directory.h"

namespace steelyard {

struct ResultsThere {
  LaunchHost host;
  std::string directory;  // on that host, from where a connection begins

  // "host 'one' (ssh ann@one), in job/runs/digits-1"
  [[nodiscard]] std::string place() const;
  // The command that copies them into a directory here.
  [[nodiscard]] std::string by_hand(const std::string& into) const;
};

// `run_directory`: as the scheduler gets it.
ResultsThere results_there(const LaunchHost& host, const std::string& run_directory);

// Copies them into the run directory here, over the host's connection. What the host sends is not trusted:
// only plain files and folders are taken, and none that the launcher itself has there (log, lock). Throws
// Failure (io) with the command that does it by hand.
void fetch(const ResultsThere& results, const RunDirectory& run);

// ---- notes in the run directory here, for status, report and runs

// Writes where the results are into the file `elsewhere`; removes it.
void note_results_there(const RunDirectory& run, const ResultsThere& results);
void note_results_here(const RunDirectory& run);
// The note of a run directory, as a sentence; empty if the results are here.
std::string note_of(const std::string& run);

// ---- the page of --web

// Leads from this machine to the page on the scheduler's host, while it exists: by `ssh -L`. Other ways to a
// host have no such command.
class PageTunnel {
 public:
  // `web` is the value of --web. Tells on standard error how to reach the page.
  PageTunnel(const LaunchHost& host, const std::string& web);

  void look();  // tells once if the tunnel has ended

 private:
  std::string command_;
  Children children_;
};

}  // namespace steelyard
