// ToldSlice: one slice as workers have it, where pulls are coded (Job::pull).
//
// A worker that has version k whole is told what is to be added to it, in few bits:
//
//   difference = coded(w(k+1) - told(k))        told(k+1) = told(k) + decoded(difference)
//
// so that all workers compute from the same told(k+1), bit for bit. What the code leaves out is in the next
// difference (error feedback, Seide et al. 2014); the server keeps it, so nothing is lost with a worker. Who
// has not version k gets told(k+1) whole. A checkpoint keeps told - w in the slice's last slot of state.
//
// Owned and used by one shard, on one thread.
#pragma once

#include "server/shard/slice_memory.h"
#include "protocol/float_code.h"

namespace steelyard {

class ToldSlice {
 public:
  struct Version {
    Blob whole;
    Blob difference;  // to the version before; empty of the first
  };

  // The slice has its first state. If it has a version before, that is what was told of it.
  ToldSlice(FloatCode code, const SliceMemory& slice);
  // The slice has its next version, whose last slot of state is written.
  void advance(SliceMemory& slice);

  [[nodiscard]] const Version& current() const { return current_; }
  [[nodiscard]] const Version& previous() const { return previous_; }

 private:
  const FloatCode code_;
  Version current_, previous_;
};

}  // namespace steelyard
