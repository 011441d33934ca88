// The messages of a round, and the timing of rounds, for every transport.
//
// A round: every worker pushes `pieces` messages of `floats` each and receives the same number; the next
// round begins when the last answer has arrived (as in BSP; this is the window of the comparison). Server and
// workers have one thread each, and each its own I/O thread if the library has them. The server's threads are
// pinned to one core, those of worker i to core 1 + i.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/buffer.h"
#include "core/time.h"

namespace steelyard::bench {

struct Exchange {
  std::uint64_t floats = 65536;  // of one message; the slice of the product
  std::uint64_t pieces = 1;      // messages of one round, each way
  unsigned workers = 1;
  // For the product. true: pushes are summed, the update rule is applied, and a slice is answered as soon as
  // this is done. false: pushes are repetitions, which the ledger drops, and the answers are sent when the
  // last push has arrived. The limits do no arithmetic; they answer at the same times.
  bool sum = true;

  [[nodiscard]] std::uint64_t size() const { return floats * pieces; }  // floats of a round, one way
};

// One worker's side. Created, used and destroyed on the worker's own thread.
class Party {
 public:
  virtual ~Party() = default;
  virtual void round() = 0;
  virtual void check() = 0;  // throws WrongResult if the answers of the last round are wrong
};
using MakeParty = std::function<std::unique_ptr<Party>(unsigned worker)>;

// Seconds per round, over about `duration`. The answers of the rounds before and of the last one are checked.
double time_rounds(const Exchange& exchange, Duration duration, const MakeParty& make);

// The transports; each returns seconds per round.
double product_rounds(const Exchange& exchange, Duration duration);   // Shard and ZmqLink over tcp
double product_by_ipc(const Exchange& exchange, Duration duration);   // the same over ipc
double product_shared(const Exchange& exchange, Duration duration);   // over ipc, values in shared memory
double bare_zmq_rounds(const Exchange& exchange, Duration duration);  // DEALER and ROUTER over tcp
double raw_tcp_rounds(const Exchange& exchange, Duration duration);   // sockets and poll

// The values that a worker pushes: small integers that depend on the index, so that float sums are exact.
std::shared_ptr<FloatBuffer> pattern(std::uint64_t floats, Memory memory = Memory::own);

}  // namespace steelyard::bench
