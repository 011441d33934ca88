#include <thread>

#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "app/processes/signals.h"
#include "app/processes/status_logger.h"
#include "app/processes/traced_link.h"
#include "core/error.h"
#include "protocol/keys.h"
#include "protocol/node.h"
#include "server/mirror/replica.h"
#include "transport/host.h"
#include "transport/zmq.h"
#include "worker/compute/own_state.h"

namespace steelyard {
namespace {

unsigned threads(const ServerOptions& options) { return options.shards + options.mirrors; }

std::string shard_name(const ServerOptions& options, unsigned index) {
  return threads(options) == 1 ? options.name : options.name + "/" + std::to_string(index);
}

// Each thread listens on its own port, or on its own ipc socket.
std::string listening(const ServerOptions& options, unsigned index) {
  const std::string endpoint = listening_endpoint(options.listen);
  const bool of_all = threads(options) > 1 && endpoint.starts_with("ipc://");
  return of_all ? endpoint + "." + std::to_string(index) : endpoint;
}

// A shard and its link, owned by one thread of a server.
struct Seat {
  Seat(ZmqContext& context, const ServerOptions& options, unsigned index, std::shared_ptr<FlatPool> versions)
      : node(new_node(Role::shard)), link(context, node, memory_for(options.exchange)) {
    const std::string scheduler = scheduler_places(options.scheduler);
    const std::string bound = link.listen(listening(options, index));
    Shard::Options of_shard{node, {}, {from_seconds(options.wait), from_seconds(0.25)}, std::move(versions)};
    of_shard.state_file = temporary_state_file;
    name = of_shard.hello.name = shard_name(options, index);
    of_shard.hello.fingerprint = options.fingerprint;
    of_shard.hello.mirror = index >= options.shards;
    of_shard.hello.endpoint =
        with_key(reachable_endpoint(bound, options.advertise, scheduler.substr(0, scheduler.find(','))),
                 context.trust() == nullptr ? "" : context.trust()->own().public_key);
    shard = std::make_unique<Replica>(of_shard);
    link.connect(scheduler_node, scheduler);
  }

  NodeId node;
  std::string name;
  ZmqLink link;
  std::unique_ptr<Replica> shard;
  std::optional<Failure> failure;  // read after its thread has ended
};

}  // namespace

int run_server(const ServerOptions& given) {
  ServerOptions options = given;
  if (options.name.empty()) options.name = default_name("server");
  check_name("--name", shard_name(options, threads(options) - 1));  // the longest
  require_loopback(listening_endpoint(options.listen), options.insecure || !options.keys.empty());
  if (threads(options) > 1 && !options.listen.ends_with(":*") && !options.listen.starts_with("ipc://")) {
    throw Failure(ExitCode::usage,
                  "with --shards or --mirrors each shard listens on a port of its own: use --listen HOST:*");
  }
  raise_descriptor_limit();
  block_signals();
  const Memory memory = memory_for(options.exchange);
  ZmqContext context(1, trust_for(options.keys, KeyRole::server, options.name, memory == Memory::shared));
  const auto versions = memory == Memory::shared ? std::make_shared<FlatPool>(memory) : nullptr;
  std::vector<std::unique_ptr<Seat>> seats;
  for (unsigned i = 0; i < threads(options); ++i)
    seats.push_back(std::make_unique<Seat>(context, options, i, versions));
  const auto leave = [&](int) {
    for (const auto& seat : seats) {
      seat->link.post({{link_node, seat->node, Message(std::in_place_type<ToShard>, Interrupt{})}});
    }
  };
  const SignalWatch signals(
      leave, {"asking the scheduler to save and to end the job; Ctrl-C again exits immediately",
              [] { return "the job cannot continue without this part of the model"; }});
  const auto say = speaker("server", options.name, options.quiet);
  say(looking_for(scheduler_places(options.scheduler), options.wait));
  std::vector<std::thread> threads;
  for (const auto& seat : seats) {
    threads.emplace_back([&seat = *seat, &seats, &say, &options] {
      try {
        // One of the threads tells how long the process has been waiting.
        const double wait = &seat == seats.front().get() ? options.wait : 0;
        StatusLogger status_logger(seat.link, seat.name, "", say, {from_seconds(wait)});
        const auto trace = traced(status_logger, options.trace, seat.node, seat.name);
        host(*seat.shard, seat.node, trace ? *trace : status_logger);
        status_logger.over(seat.shard->exit_reason());
      } catch (const Failure& failure) {
        seat.failure = failure;
      } catch (const std::bad_alloc&) {
        seat.failure =
            Failure(ExitCode::failed,
                    "not enough memory for this server's part of the model and the gradients of a round: "
                    "divide it among more machines (cluster.servers), or start fewer workers here");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int worst = 0;
  for (const auto& seat : seats) {
    if (seat->failure) throw Failure(*seat->failure);
  }
  for (const auto& seat : seats) {
    worst = std::max(worst, verdict("server", seat->shard->exit_reason(), options.scheduler));
  }
  return worst;
}

}  // namespace steelyard
