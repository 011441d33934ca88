// Seats: the shards that a process hosts, each with a link and a thread of its own: those of a server, or
// those of a worker on a device (servers = "workers" in [cluster]).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/processes/process_settings.h"
#include "core/error.h"
#include "core/flat_pool.h"
#include "server/mirror/replica.h"
#include "transport/zmq.h"

namespace steelyard {

class Seats {
 public:
  // Called once for each shard; see Shard::Options. Empty: the processor computes.
  using MakeArithmetic = std::function<Shard::Options::MakeArithmetic()>;

  // Listens. `versions`: memory that other processes read; null: private memory. Context and options outlive
  // it. Throws Failure if it cannot start.
  Seats(ZmqContext& context, const ServerOptions& options, std::shared_ptr<FlatPool> versions,
        const MakeArithmetic& arithmetic = {});
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;
  ~Seats();  // interrupts, and waits for the threads

  // Before start(). For links of the same process, and for values in the memory of a device of the shards.
  void pass_within(const std::shared_ptr<SameProcess>& links);
  void lend_from(const std::shared_ptr<DeviceExchange>& devices);
  // Called by a thread that ends with it.
  std::function<void(const Failure&)> on_failure{};
  // Called by a thread that ends without a Failure, although its shard has not joined the job.
  std::function<void()> on_unjoined{};

  // Starts the threads, which call the above. Throws std::system_error if the system makes no thread; those
  // made before run until join() or the destructor.
  void start();
  // Asks the scheduler to save and to end the job. Any thread.
  void interrupt();
  // Waits for the end, prints messages, and returns the exit code. Throws the first Failure of a thread.
  int join();

 private:
  struct Seat {
    Seat(ZmqContext& context, const ServerOptions& options, unsigned index, Shard::Options of_shard);
    NodeId node;
    std::string name;
    ZmqLink link;
    std::unique_ptr<Replica> shard;
    std::optional<Failure> failure;  // read after its thread has ended
  };
  void host_one(Seat& seat);

  const ServerOptions& options_;
  const std::function<void(const std::string&)> say_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::thread> threads_;
};

// The name of a shard: the server's, with its number if there are several.
[[nodiscard]] std::string shard_name(const ServerOptions& options, unsigned index);

}  // namespace steelyard
