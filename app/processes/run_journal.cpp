#include "app/processes/run_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "app/processes/processes.h"
#include "core/error.h"
#include "core/record_parts.h"
#include "scheduler/recovery/reclaim.h"
#include "transport/host.h"
#include "transport/zmq.h"

namespace steelyard {
namespace {

// The process id of the last holder. It may have exited while a child still holds the lock.
std::string signature(int file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  const std::string all(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return all.substr(0, all.find('\n'));
}

// Returns the open and locked file.
int lock(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    throw Failure(ExitCode::io, "run directory " + directory + ": " + path +
                                    " cannot be opened: " + std::generic_category().message(errno) +
                                    ": give --run-dir a place where you may write");
  }
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return file;
  const std::string who = signature(file);
  ::close(file);
  throw Failure(ExitCode::io, "run directory " + directory + ": process " + (who.empty() ? "?" : who) +
                                  " is training in it: wait until it exits, stop it (kill " + who +
                                  " saves a checkpoint first), or give --run-dir another name");
}

void cut_to(const std::string& path, std::uint64_t bytes) {
  if (std::filesystem::file_size(path) > bytes) std::filesystem::resize_file(path, bytes);
}

// A standby receives the journal from its last condensation on, so its record starts there.
Note record_begins_here(Round round, const std::string& former) {
  return {"the record of this run begins here with round " + std::to_string(round) +
          ", because another scheduler led before: rounds.jsonl and events.jsonl of earlier rounds are in " +
          former};
}

}  // namespace

RunLock::RunLock(const std::string& directory, int inherited)
    : file_(inherited >= 0 ? inherited : lock(directory)) {
  if (::fcntl(file_, F_SETFD, FD_CLOEXEC) != 0) {
    throw Failure(ExitCode::usage, "--run-dir-lock " + std::to_string(inherited) + ": no lock on " +
                                       directory +
                                       " was inherited: leave it out, only `steelyard train` sets it");
  }
  const std::string who = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file_, 0) == 0) (void)!::pwrite(file_, who.data(), who.size(), 0);
}

RunLock::~RunLock() { ::close(file_); }

// A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 708 08:01:2641 0 EOF".
bool in_use(const std::string& directory) {
  struct stat file {};
  if (::stat((directory + "/lock").c_str(), &file) != 0) return false;
  const std::string inode = ":" + std::to_string(file.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

std::vector<std::byte> head_here(const RunDirectory& run, const Job& job, const Progress& from,
                                 SchedulersPlace place, const Recorder& recorder) {
  const Time now = steady_now();
  place.run = std::filesystem::absolute(run.path()).lexically_normal().string();
  place.rounds_part = last_closed_part(run.rounds());
  place.rounds_bytes = std::filesystem::file_size(run.rounds());
  place.events_bytes = std::filesystem::file_size(run.events());
  std::vector<std::byte> head;
  append(head, {now, journal_head(job, from, place, recorder.save(now))});
  return head;
}

ToldAgain tell_again(const Killed& killed, Scheduler& scheduler, Recorder& recorder, const Acting& acting) {
  if (!killed.record.empty()) recorder.restore(killed.record, killed.recorded);
  JournalReader journal(killed.journal);
  (void)journal.next();
  bool begins_here = killed.place.events_bytes == 0 && !killed.place.former.empty();
  StandbyFeed::Follower follower = replay(
      journal, scheduler,
      [&](const JournalRecord& record, std::vector<Envelope> answers) {
        if (std::holds_alternative<Condensed>(record.what) && std::exchange(begins_here, false)) {
          recorder.handle(record_begins_here(scheduler.cursor().round(), killed.place.former), record.now);
        }
        for (const Envelope& answer : answers) {
          if (const auto* it = std::get_if<ToRecorder>(&answer.message)) recorder.handle(*it, record.now);
        }
      },
      acting);
  return {std::move(follower), journal.read()};
}

void skip_what_ends_processes(Killed& killed, const RunDirectory& run, const ReplayMark& mark) {
  const auto ended = mark.ended();
  if (!ended || ended->times < ReplayMark::enough) return;
  if (ended->begin != killed.last_record) {
    throw Failure(ExitCode::io,
                  run.journal() + ": the record at byte " + std::to_string(ended->begin) +
                      " crashes each process that reads it, and its answers have been sent: continue "
                      "from the last checkpoint with --resume");
  }
  JournalReader last(std::span(killed.journal).subspan(ended->begin));
  const auto record = last.next();
  if (!record) return;
  const auto* heard = std::get_if<Heard>(&record->what);
  killed.journal.resize(ended->begin + last.read());  // drops a truncated record after it
  std::vector<std::byte> skipped;
  append(skipped, {record->now, Skipped{heard == nullptr ? NodeId{} : heard->envelope.from}});
  JournalFile file(run.journal(), killed.journal.size());
  if (file.write(skipped) != JournalFile::News::none)
    throw Failure(ExitCode::io, run.journal() + ": it cannot be written: " + file.trouble());
  killed.last_record = killed.journal.size();
  killed.journal.insert(killed.journal.end(), skipped.begin(), skipped.end());
}

void cut_record(const RunDirectory& run, const SchedulersPlace& place) {
  cut_parts(run.rounds(), place.rounds_part, place.rounds_bytes);
  cut_to(run.events(), place.events_bytes);
}

ToldAgain replay_killed(Killed& killed, const RunDirectory& run, Scheduler& scheduler, Recorder& recorder) {
  ReplayMark mark(run.journal() + ".replay");
  skip_what_ends_processes(killed, run, mark);
  ToldAgain told = tell_again(killed, scheduler, recorder, [&](std::size_t begin) { mark.acting(begin); });
  mark.done();
  return told;
}

void require_leadership(const ToldAgain& told, const RunDirectory& run, const Scheduler& scheduler,
                        ZmqContext& context) {
  const auto refuse_lead = [&] {
    note_superseded(run);
    const char* remedy = ": this process cannot lead it again; follow the job on the standby's machine";
    throw Failure(ExitCode::configuration, run.path() + ": the standby of this job leads it" + remedy);
  };
  if (told.follower.superseded) refuse_lead();
  // A job that has ended needs no leader, and its servers may have exited.
  if (told.follower.attempt == 0 || scheduler.phase() >= Phase::stopping) return;
  const NodeId self = new_node(Role::standby);
  ZmqLink link(context, self);
  Reclaim reclaim(scheduler.term(), told.follower, scheduler.members(), std::chrono::seconds(60));
  host(reclaim, self, link);
  if (reclaim.answer() == Reclaim::Answer::granted) return;
  if (reclaim.answer() == Reclaim::Answer::none) {
    throw Failure(ExitCode::unreachable,
                  run.path() +
                      ": the scheduler was killed while a standby followed it, and the servers that know "
                      "which of the two leads do not answer: if the standby does not continue the job, "
                      "continue from the last checkpoint with --resume");
  }
  std::vector<std::byte> superseded;
  append(superseded, {steady_now(), Superseded{}});
  (void)JournalFile(run.journal(), told.bytes).write(superseded);
  refuse_lead();
}

void note_superseded(const RunDirectory& run) try {
  write_text(RunDirectory::superseded_in(run.path()), "a standby leads this job\n");
} catch (const Failure&) {
}

}  // namespace steelyard
