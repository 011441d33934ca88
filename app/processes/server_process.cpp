#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "app/processes/seats.h"
#include "app/processes/signals.h"
#include "core/error.h"
#include "protocol/node.h"

namespace steelyard {

int run_server(const ServerOptions& given) {
  ServerOptions options = given;
  if (options.name.empty()) options.name = default_name("server");
  const unsigned threads = options.shards + options.mirrors;
  check_name("--name", shard_name(options, threads - 1));  // the longest
  require_loopback(listening_endpoint(options.listen), options.insecure || !options.keys.empty());
  if (threads > 1 && !options.listen.ends_with(":*") && !options.listen.starts_with("ipc://")) {
    throw Failure(ExitCode::usage,
                  "with --shards or --mirrors each shard listens on a port of its own: use --listen HOST:*");
  }
  raise_descriptor_limit();
  block_signals();
  const Memory memory = memory_for(options.exchange);
  ZmqContext context(1, trust_for(options.keys, KeyRole::server, options.name, memory == Memory::shared));
  Seats seats(context, options, memory == Memory::shared ? std::make_shared<FlatPool>(memory) : nullptr);
  const SignalWatch signals(
      [&](int) { seats.interrupt(); },
      {"asking the scheduler to save and to end the job; Ctrl-C again exits immediately",
       [] { return "the job cannot continue without this part of the model"; }});
  seats.start();
  return seats.join();
}

}  // namespace steelyard
