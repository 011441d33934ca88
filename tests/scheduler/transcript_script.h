// A scheduler spoken to in plain text, so that a whole life of it can be read and compared.
//
// A transcript is a text file. Lines that begin in the first column are said to the scheduler (or are
// remarks, with '#'); indented lines are what it answers. Nodes are w1, w2, ... (workers), s1, s2, ...
// (shards) and k (the checkpointer).
//
//   job samples=64 batch=32 epochs=1 workers=2 shards=1
//       A job; policy `equal` and sync `bsp` unless told otherwise. Also save= save_rounds= save_minutes=
//       (when there are checkpoints), server_wait=, and version= epoch= offset= names=ann,ben (a resume).
//   w1: Hello ann / Ready / Goodbye / Goodbye why it failed
//   w1: Beat 1,2 progress=3 unreached=s1    pieces it holds; roster= unless it goes by the last one;
//                                           left= of a background worker's machine
//   w1: Report 3 loss=1                     piece 3; also seconds= correct=
//   s1: Hello left / Closed 1 / Covered 0 4,5
//   s1: Beat version=0 opened=1 loaded gaps=0-8,16-20 covered added=3
//   s1: GradientRejected 2 w1                      piece 2, computed by w1
//   k: Beat / Saved 2 path / Failed 2 reason
//   lost w1 / version_mismatch w1 7 / interrupt / wait 0.5 (seconds)
//   killed                                  its process was, and another one goes on from its journal
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
  // What the scheduler answers to one line, one line each, in words. Throws std::runtime_error for a line
  // that it does not understand.
  std::vector<std::string> say(const std::string& line);
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const Job& job() const { return job_; }
  // A scheduler made of the journal, and all that it said on the way, byte for byte.
  struct Replayed {
    std::unique_ptr<Scheduler> scheduler;
    std::string said;
  };
  [[nodiscard]] Replayed replayed() const;
  [[nodiscard]] const std::string& said() const { return said_; }  // likewise, as it was said

 private:
  struct Words;
  void begin(Words words);
  void hear(NodeId from, const std::string& what, Words words);
  template <class Said>
  void tell(NodeId from, Said said);
  template <class Do>
  void let(Do act);
  void tell_shard_beat(NodeId from, Words words);
  Report report_of(PieceId id, const Words& words) const;
  void take(const std::vector<Envelope>& said);
  void begin_journal();

  Job job_;
  Progress from_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Journaled> journaled_;
  std::vector<std::byte> journal_;
  std::string said_;
  Invariants invariants_;
  Time now_{std::chrono::seconds(1)};
  std::uint64_t roster_ = 0;  // number of the last one that was said
  std::vector<std::string> answers_;
};

}  // namespace steelyard::test
