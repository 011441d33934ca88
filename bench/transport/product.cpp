// The product: a Shard state machine hosted on a ZmqLink, and workers that exchange messages with it as
// worker/worker.cpp does. A Steward on the first worker's thread sends the messages of scheduler and
// checkpointer to the shard, over separate connections as in a real job.
//
// A worker pulls the next version, pushes its piece of every slice, and waits for the slices of that version.
// It keeps the received blobs. As in the limits, they are not copied into the model's flat buffer. The rule
// is plain SGD: finite check, sum, one pass over the parameters.
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <future>

#include "bench/hardware.h"
#include "bench/pairs.h"
#include "bench/transport/exchange.h"
#include "protocol/terms.h"
#include "server/shard/shard.h"
#include "transport/host.h"
#include "transport/zmq.h"

namespace steelyard::bench {
namespace {

constexpr NodeId shard_node{Role::shard, 1};
constexpr NodeId checkpointer_node{Role::checkpointer, 1};
constexpr Term term = 1;
constexpr Duration timeout = std::chrono::seconds(10);
constexpr std::uint64_t share = 8;  // positions of one worker; a power of two, so that means are exact
constexpr Round opened_ahead = 4;   // far below most_open_rounds, the limit of a shard

// The transport, and the memory of values.
struct Road {
  bool ipc = false;
  Memory memory = Memory::own;

  [[nodiscard]] std::string endpoint(const char* who) const {
    if (!ipc) return "tcp://127.0.0.1:*";
    static std::atomic<unsigned> next{0};
    return std::string("ipc://@steelyard-bench-") + who + "-" + std::to_string(getpid()) + "-" +
           std::to_string(next++);
  }
};

Job job_of(const Exchange& exchange) {
  Job job;
  append(job.layout, "values", {exchange.size()});
  job.layout.slice_size = exchange.floats;
  job.train_samples = job.global_batch = share * exchange.workers;
  job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  job.schedule.base = 1;
  return job;
}

template <class Receiver, class Said>
void say(Link& link, NodeId from, NodeId to, Said said) {
  link.send({from, to, Message(std::in_place_type<Receiver>, std::move(said))});
}

// Receives the next message of this kind and skips others.
template <class Wanted, class Receiver>
Wanted await(Link& link, const char* what) {
  const Time deadline = steady_now() + timeout;
  while (auto in = link.receive(deadline)) {
    if (const auto* message = std::get_if<Receiver>(&in->message)) {
      if (const auto* wanted = std::get_if<Wanted>(message)) return *wanted;
    }
  }
  throw WrongResult(std::string("product: ") + what + " did not arrive");
}

void serve(const Road& road, const std::string& scheduler) {
  pin(0);
  ZmqContext context;
  ZmqLink link(context, shard_node, road.memory);
  Shard::Options options{shard_node, {}, {timeout, from_seconds(0.5)}};
  if (road.memory == Memory::shared) options.versions = std::make_shared<FlatPool>(road.memory);
  options.hello.endpoint = link.listen(road.endpoint("shard"));
  link.connect(scheduler_node, scheduler);
  Shard shard(std::move(options));
  host(shard, shard_node, link);
}

// Acts as scheduler and checkpointer, and owns the server's thread.
class Steward {
 public:
  Steward(ZmqContext& context, const Exchange& exchange, const Road& road)
      : exchange_(exchange),
        job_(job_of(exchange)),
        link_(context, scheduler_node),
        checkpointer_(context, checkpointer_node) {
    const std::string endpoint = link_.listen(road.endpoint("steward"));
    server_ = std::async(std::launch::async, serve, road, endpoint);
  }
  ~Steward() { say<ToShard>(link_, scheduler_node, shard_node, Stop{}); }  // server_ waits for the thread
  Steward(const Steward&) = delete;
  Steward& operator=(const Steward&) = delete;

  // Welcomes the server, loads zeros into it, and returns its endpoint.
  std::string prepare() {
    std::string server = await<Hello, ToScheduler>(link_, "the server's Hello").endpoint;
    say<ToShard>(link_, scheduler_node, shard_node, Welcome{term, 0, job_});
    checkpointer_.connect(shard_node, server);
    const std::vector<Slice> all = slices(job_.layout);
    for (std::uint32_t slice = 0; slice < all.size(); ++slice) {
      const std::vector<float> zeros(all[slice].size());
      say<ToShard>(checkpointer_, checkpointer_node, shard_node,
                   StateChunk{term, 0, slice, 0, 0, Blob::copy_of(zeros)});
    }
    while (!await<ShardBeat, ToScheduler>(link_, "the server's report that it is loaded").loaded) {
    }
    return server;
  }

  // Keeps this round and the next open: every few rounds it opens some more, and receives the shard's
  // messages.
  void open(Round round) {
    if (round + 1 < opened_) return;
    for (; opened_ <= round + opened_ahead; ++opened_) {
      const Interval all{0, share * exchange_.workers};
      say<ToShard>(link_, scheduler_node, shard_node,
                   BeginRound{term, opened_, 0, all, all.size(), false, false});
    }
    while (link_.receive(Time{})) {
    }
  }

 private:
  const Exchange exchange_;
  const Job job_;
  ZmqLink link_, checkpointer_;
  std::future<void> server_;
  Round opened_ = 0;
};

class Client final : public Party {
 public:
  Client(const Exchange& exchange, const Road& road, unsigned worker, std::promise<std::string>& bound,
         const std::shared_future<std::string>& endpoint)
      : exchange_(exchange),
        worker_(worker),
        self_{Role::worker, 1 + worker},
        link_(context_, self_, road.memory),
        values_(pattern(exchange.size(), road.memory)),
        answers_(exchange.pieces) {
    if (worker == 0) {
      steward_ = std::make_unique<Steward>(context_, exchange, road);
      bound.set_value(steward_->prepare());
    }
    link_.connect(shard_node, endpoint.get());
    if (!exchange_.sum) sum_once();
  }
  void round() override {
    if (exchange_.sum) {
      if (steward_) steward_->open(version_);
      say<ToShard>(link_, self_, shard_node, Pull{term, version_ + 1});
      push(version_);
      gather(++version_);
    } else {
      push(version_ - 1);  // a repeated push; its round is closed
      say<ToShard>(link_, self_, shard_node, Pull{term, version_});
      gather(version_);
    }
  }

  // Starting from zeros, every round subtracts the mean of the pattern once; this is exact in float.
  void check() override {
    const auto times = static_cast<float>(version_);
    for (std::uint64_t i = 0; i < exchange_.size(); ++i) {
      const float got = answers_[i / exchange_.floats].floats()[i % exchange_.floats];
      expect(got == -times * values_->data()[i] / static_cast<float>(share), "product: a parameter is wrong");
    }
  }

 private:
  void sum_once() {
    steward_->open(0);
    say<ToShard>(link_, self_, shard_node, Pull{term, 1});
    push(0);
    gather(++version_);
  }

  void push(Round round) {
    const Interval mine{worker_ * share, (worker_ + 1) * share};
    for (std::uint32_t slice = 0; slice < exchange_.pieces; ++slice) {
      const auto values =
          Blob::of_floats(values_, {values_->data() + slice * exchange_.floats, exchange_.floats});
      say<ToShard>(link_, self_, shard_node,
                   Push{term,
                        {.id = 1 + worker_, .round = round, .positions = mine},
                        static_cast<double>(share),
                        slice,
                        values});
    }
  }

  void gather(Version version) {
    for (std::uint64_t missing = exchange_.pieces; missing > 0; --missing) {
      auto got = await<Parameters, ToWorker>(link_, "an answer");
      expect(
          got.version == version && got.slice < exchange_.pieces && got.values.holds_floats(exchange_.floats),
          "product: an answer is of another version or size");
      answers_[got.slice] = std::move(got.values);
      const auto arrived = static_cast<std::uint32_t>(exchange_.pieces + 1 - missing);
      if (arrived % (window_ / 2) == 0) say<ToShard>(link_, self_, shard_node, PullAck{term, 0, arrived});
    }
  }

  const Exchange exchange_;
  const unsigned worker_;
  const NodeId self_;
  const std::uint32_t window_ = pull_window(job_of(exchange_));
  ZmqContext context_;
  std::unique_ptr<Steward> steward_;  // the first worker's
  ZmqLink link_;
  const std::shared_ptr<FloatBuffer> values_;
  std::vector<Blob> answers_;
  Version version_ = 0;
};

double rounds(const Road& road, const Exchange& exchange, Duration duration) {
  std::promise<std::string> bound;
  const std::shared_future<std::string> endpoint = bound.get_future().share();
  return time_rounds(exchange, duration, [&](unsigned worker) {
    return std::make_unique<Client>(exchange, road, worker, bound, endpoint);
  });
}

}  // namespace

double product_rounds(const Exchange& exchange, Duration duration) { return rounds({}, exchange, duration); }
double product_by_ipc(const Exchange& exchange, Duration duration) {
  return rounds({true, Memory::own}, exchange, duration);
}
double product_shared(const Exchange& exchange, Duration duration) {
  return rounds({true, Memory::shared}, exchange, duration);
}

}  // namespace steelyard::bench
