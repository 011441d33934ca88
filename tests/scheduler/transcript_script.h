// Drives a scheduler by a text file, so that its whole life can be read and compared.
//
// In such a transcript, lines that begin in the first column are inputs of the scheduler (or comments, with
// '#'); indented lines are its answers. Nodes are w1, w2, ... (workers), s1, s2, ... (shards) and k (the
// checkpointer).
//
//   job samples=64 batch=32 epochs=1 workers=2 shards=1
//       A job; policy `equal` and sync `bsp` by default. Also save= save_rounds= save_minutes=
//       (when there are checkpoints), server_wait=, and version= epoch= offset= names=ann,ben (a resume).
//   w1: Hello ann / Ready / Goodbye / Goodbye why it failed
//   w1: Ready 1:0.5 2:0.7 most=2            with a profile, if the job line has the word `profile`
//   w1: NoState loading=2                   a Ready without state, if the job line has optimizer=worker
//   w1: Uploaded 2 / NotUploaded 2 why      attempt 2
//   w1: Beat 1,2 progress=3 unreached=s1    pieces it holds; roster= if it does not have the latest;
//                                           left= the part of its machine left to a background worker
//   w1: Report 3 loss=1                     piece 3; also seconds= correct=
//   s1: Hello left / Closed 1 / Covered 0 4,5
//   s1: Beat version=0 opened=1 loaded gaps=0-8,16-20 covered added=3
//   s1: GradientRejected 2 w1                      piece 2, computed by w1
//   k: Beat / Saved 2 path / Failed 2 reason
//   lost w1 / version_mismatch w1 7 / interrupt / wait 0.5 (seconds)
//   gone                                    some process of the job exited for good
//   killed                                  the scheduler is killed; another continues from the journal
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/recovery/journaled.h"
#include "scheduler/rounds/invariants.h"

namespace steelyard::test {

class Script {
 public:
  // Returns the scheduler's answers to one line, in words. Throws std::runtime_error if the line is invalid.
  std::vector<std::string> run(const std::string& line);
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const Job& job() const { return job_; }
  // A scheduler replayed from the journal, and all messages that it sent, byte for byte.
  struct Replayed {
    std::unique_ptr<Scheduler> scheduler;
    std::string sent;
  };
  [[nodiscard]] Replayed replayed() const;
  // All messages that the live scheduler sent, likewise.
  [[nodiscard]] const std::string& sent() const { return sent_; }

 private:
  struct Words;
  void begin(Words words);
  void send_words(NodeId from, const std::string& what, Words words);
  template <class Body>
  void send(NodeId from, Body sent);
  template <class Do>
  void apply(Do act);
  void send_shard_beat(NodeId from, Words words);
  Report report_of(PieceId id, const Words& words) const;
  void take(const std::vector<Envelope>& sent);
  void begin_journal();

  Job job_;
  Progress from_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Journaled> journaled_;
  std::vector<std::byte> journal_;
  std::string sent_;
  Invariants invariants_;
  Time now_{std::chrono::seconds(1)};
  std::uint64_t roster_ = 0;  // number of the last one sent
  std::vector<std::string> answers_;
};

}  // namespace steelyard::test
