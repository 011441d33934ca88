#include "app/processes/seats.h"

#include <exception>
#include <new>

#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "app/processes/status_logger.h"
#include "app/processes/traced_link.h"
#include "protocol/keys.h"
#include "protocol/node.h"
#include "transport/host.h"
#include "worker/compute/own_state.h"

namespace steelyard {
namespace {

unsigned threads(const ServerOptions& options) { return options.shards + options.mirrors; }

// Each thread listens on its own port, or on its own ipc socket.
std::string listening(const ServerOptions& options, unsigned index) {
  const std::string endpoint = listening_endpoint(options.listen);
  const bool of_all = threads(options) > 1 && endpoint.starts_with("ipc://");
  return of_all ? endpoint + "." + std::to_string(index) : endpoint;
}

}  // namespace

std::string shard_name(const ServerOptions& options, unsigned index) {
  return threads(options) == 1 ? options.name : options.name + "/" + std::to_string(index);
}

Seats::Seat::Seat(ZmqContext& context, const ServerOptions& options, unsigned index, Shard::Options of_shard)
    : node(of_shard.self), link(context, node, memory_for(options.exchange)) {
  const std::string scheduler = scheduler_places(options.scheduler);
  const std::string bound = link.listen(listening(options, index));
  of_shard.timeout = {from_seconds(options.wait), from_seconds(0.25)};
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

Seats::Seats(ZmqContext& context, const ServerOptions& options, std::shared_ptr<FlatPool> versions,
             const MakeArithmetic& arithmetic)
    : options_(options), say_(speaker("server", options.name, options.quiet)) {
  for (unsigned i = 0; i < threads(options); ++i) {
    Shard::Options of_shard{.self = new_node(Role::shard), .hello = {}, .timeout = {}, .versions = versions};
    if (arithmetic) of_shard.arithmetic = arithmetic();
    seats_.push_back(std::make_unique<Seat>(context, options, i, std::move(of_shard)));
  }
}

Seats::~Seats() {
  if (threads_.empty()) return;
  interrupt();
  for (std::thread& thread : threads_) thread.join();
}

void Seats::pass_within(const std::shared_ptr<SameProcess>& links) {
  for (const auto& seat : seats_) seat->link.join(links);
}

void Seats::lend_from(const std::shared_ptr<DeviceExchange>& devices) {
  for (const auto& seat : seats_) seat->link.lend_from(devices);
}

void Seats::start() {
  say_(looking_for(scheduler_places(options_.scheduler), options_.wait));
  for (const auto& seat : seats_) threads_.emplace_back([this, &its = *seat] { host_one(its); });
}

void Seats::host_one(Seat& seat) {
  try {
    // Only one of the threads reports how long the process has been waiting.
    const double wait = &seat == seats_.front().get() ? options_.wait : 0;
    StatusLogger status_logger(seat.link, seat.name, "", say_, {from_seconds(wait)});
    const auto trace = traced(status_logger, options_.trace, seat.node, seat.name);
    host(*seat.shard, seat.node, trace ? *trace : status_logger);
    status_logger.over(seat.shard->exit_reason());
  } catch (const Failure& failure) {
    seat.failure = failure;
  } catch (const std::bad_alloc&) {
    seat.failure = Failure(
        ExitCode::failed,
        "not enough memory for this server's part of the model and the gradients of a round: divide it among "
        "more machines (cluster.servers), or start fewer workers here");
  } catch (const std::exception& other) {
    seat.failure = Failure(ExitCode::failed, other.what());
  }
  if (seat.failure) {
    if (on_failure) on_failure(*seat.failure);
  } else if (on_unjoined && !seat.shard->shard().joined()) {
    on_unjoined();
  }
}

void Seats::interrupt() {
  for (const auto& seat : seats_)
    seat->link.post({{link_node, seat->node, Message(std::in_place_type<ToShard>, Interrupt{})}});
}

int Seats::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  int worst = 0;
  for (const auto& seat : seats_) {
    if (seat->failure) throw Failure(*seat->failure);
  }
  for (const auto& seat : seats_)
    worst = std::max(worst, verdict("server", seat->shard->exit_reason(), options_.scheduler));
  return worst;
}

}  // namespace steelyard
