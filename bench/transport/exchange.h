// What is exchanged in a round, and how a round is timed, whoever carries it.
//
// A round: every worker pushes `pieces` messages of `floats` each and gets as many back; the next round
// begins when the last answer is there (that is BSP, and the window of the comparison). Server and workers
// have a thread each, and each its own I/O thread where the library has them; the server's are pinned to one
// core, a worker's to the next.
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
  // Product: the pushes are summed and the update rule applied, and a slice is answered as soon as that is
  // done. Otherwise the pushes are repetitions, which the ledger drops, and the answers leave when the last
  // one has come. The limits do no arithmetic; they answer at the same moments.
  bool sum = true;

  [[nodiscard]] std::uint64_t size() const { return floats * pieces; }  // floats of a round, one way
};

// One worker's end. Made, used and destroyed on the worker's own thread.
class Party {
 public:
  virtual ~Party() = default;
  virtual void round() = 0;
  virtual void check() = 0;  // what the last round brought is what it must be; throws WrongResult
};
using MakeParty = std::function<std::unique_ptr<Party>(unsigned worker)>;

// Seconds per round, over about `duration`. The answers of the rounds before and of the last one are checked.
double time_rounds(const Exchange& exchange, Duration duration, const MakeParty& make);

// The carriers: seconds per round.
double product_rounds(const Exchange& exchange, Duration duration);   // Shard and ZmqLink over tcp
double product_by_ipc(const Exchange& exchange, Duration duration);   // the same over ipc
double product_shared(const Exchange& exchange, Duration duration);   // over ipc, values in shared memory
double bare_zmq_rounds(const Exchange& exchange, Duration duration);  // DEALER and ROUTER over tcp
double raw_tcp_rounds(const Exchange& exchange, Duration duration);   // sockets and poll

// What a worker pushes: small whole numbers, different at every place, so that sums in float are exact.
std::shared_ptr<FloatBuffer> pattern(std::uint64_t floats, Memory memory = Memory::own);

}  // namespace steelyard::bench
