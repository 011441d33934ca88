#include "tests/support/test_cluster.h"

#include <algorithm>
#include <thread>

#include "balancing/policies.h"
#include "core/random.h"
#include "nn/network.h"
#include "scheduler/rounds/epoch_cursor.h"
#include "scheduler/scheduler.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/checkpointer.h"
#include "server/shard/shard.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_sanitizer.h"
#include "transport/host.h"
#include "transport/local.h"
#include "transport/zmq.h"
#include "worker/compute/compute_node.h"
#include "worker/worker.h"

namespace steelyard::test {
namespace {

class RandomPolicy : public balancing::Policy {
 public:
  explicit RandomPolicy(std::uint64_t seed) : random_(seed) {}
  void observe(const balancing::Sample&) override {}
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    std::vector<std::uint64_t> shares(request.workers.size(), 0);
    std::uint64_t left = request.positions;
    for (std::size_t i = 0; i + 1 < shares.size(); ++i) left -= shares[i] = random_.below(left + 1);
    shares.back() = left;
    return shares;
  }
  std::string save() const override { return "random"; }
  void restore(const std::string&) override {}

 private:
  Random random_;
};

// Creates the links of one cluster.
class Net {
 public:
  explicit Net(Transport transport) : transport_(transport) {
    if (transport != Transport::local) context_ = std::make_unique<ZmqContext>();
  }
  // A link. Listens if `endpoint` is given, and sets it.
  std::unique_ptr<Link> join(NodeId node, std::string* endpoint) {
    if (transport_ == Transport::local) {
      if (endpoint != nullptr) *endpoint = "local";
      return local_.join(node);
    }
    auto link = std::make_unique<ZmqLink>(*context_, node, memory());
    if (endpoint != nullptr) {
      const std::string path = "ipc://" + sockets_.path(to_string(node));
      *endpoint = link->listen(transport_ == Transport::tcp ? "tcp://127.0.0.1:*" : path);
    }
    return link;
  }
  [[nodiscard]] Memory memory() const {
    return transport_ == Transport::shared ? Memory::shared : Memory::own;
  }
  // All shards share this pool, as in one server process.
  [[nodiscard]] const std::shared_ptr<FlatPool>& versions() const { return versions_; }

 private:
  const Transport transport_;
  const std::shared_ptr<FlatPool> versions_ =
      transport_ == Transport::shared ? std::make_shared<FlatPool>(Memory::shared) : nullptr;
  LocalNetwork local_;
  const TemporaryFolder sockets_;  // for ipc
  std::unique_ptr<ZmqContext> context_;
};

constexpr Session::Timeouts timeout{from_seconds(30), from_seconds(0.05)};

void run_worker(Net& net, const std::string& scheduler, std::uint32_t index, const ClusterOptions& of,
                const nn::Model& model, const DataSets& data) {
  const std::string slow = index < of.slow.size() ? of.slow[index] : "1";
  const Device device = index < of.devices.size() ? of.devices[index] : Device{};
  const NodeId node{Role::worker, index + 1};
  const std::unique_ptr<Link> link = net.join(node, nullptr);
  std::unique_ptr<ComputeNode> compute;
  Worker::Options options{node, {}, timeout, {}};
  options.hello.name = "worker-" + std::to_string(index);
  options.hello.kind = kind(device);
  options.prepare = [&](const Welcome& welcome) {
    compute = std::make_unique<ComputeNode>(
        posting_to(*link, node), model_workload(model, data, {.device = device}), welcome.job,
        Throttle::parse(slow, "1"), BufferPool(welcome.job->layout.size(), net.memory()));
  };
  Worker worker(options);
  link->connect(scheduler_node, scheduler);
  host(worker, node, *link,
       [&](const Envelope& envelope) { compute->give(std::get<ToCompute>(envelope.message)); });
}

void run_shard(Net& net, const std::string& scheduler, std::uint32_t index) {
  const NodeId node{Role::shard, index + 1};
  Shard::Options options{node, {}, timeout, net.versions()};
  options.hello.name = "server-" + std::to_string(index);
  const std::unique_ptr<Link> link = net.join(node, &options.hello.endpoint);
  Shard shard(options);
  link->connect(scheduler_node, scheduler);
  host(shard, node, *link);
}

void note(ClusterResult& result, const Envelope& envelope) {
  const auto* message = std::get_if<ToRecorder>(&envelope.message);
  if (message == nullptr) return;
  if (const auto* it = std::get_if<Note>(message)) result.notes.push_back(it->text);
  const auto* record = std::get_if<RoundRecord>(message);
  if (record != nullptr && record->purpose == Purpose::evaluate) result.accuracy = record->accuracy;
  if (record != nullptr && record->purpose == Purpose::train) result.rounds.push_back(*record);
}

}  // namespace

const char* name(Transport transport) {
  switch (transport) {
    case Transport::local:
      return "local";
    case Transport::tcp:
      return "tcp";
    case Transport::ipc:
      return "ipc";
    case Transport::shared:
      return "shared memory";
  }
  return "";
}

std::vector<Transport> transports() {
  if (!can_use_zmq()) return {Transport::local};
  return {Transport::local, Transport::tcp, Transport::ipc, Transport::shared};
}

std::unique_ptr<balancing::Policy> random_policy(std::uint64_t seed) {
  return std::make_unique<RandomPolicy>(seed);
}

Snapshot fresh(Job& job, const nn::Model& model, const DataSets& data) {
  job.layout = nn::layout_for(job.optimizer, model.layout());
  job.layout.slice_size = default_slice_size(job.layout.size(), job.shards);
  job.train_samples = data.train->size();
  job.test_samples = data.test ? data.test->size() : 0;
  Snapshot snapshot;
  snapshot.layout = job.layout;
  snapshot.parameters.resize(job.layout.size());
  model.initialize(snapshot.parameters, job.seed);
  return snapshot;
}

ClusterResult run_cluster(const Job& job, const nn::Model& model, const DataSets& data,
                          ClusterOptions options) {
  ClusterResult result;
  Net net(options.transport);
  std::string endpoint;
  const std::unique_ptr<Link> link = net.join(scheduler_node, &endpoint);
  const NodeId checkpointer_node{Role::checkpointer, 1};
  const auto store = [&](const Snapshot& snapshot) {
    result.stored.push_back(snapshot);
    return std::string("memory");
  };
  Checkpointer checkpointer(checkpointer_node, options.initial, state_slots(job), in_memory(store));
  Scheduler scheduler(job, options.initial.progress,
                      options.policy_seed != 0 ? random_policy(options.policy_seed)
                                               : balancing::make_policy(job.policy, job.policy_options));
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    const std::unique_ptr<Link> own = net.join(checkpointer_node, nullptr);
    own->connect(scheduler_node, endpoint);
    host(checkpointer, checkpointer_node, *own);
  });
  for (std::uint32_t i = 0; i < job.shards; ++i)
    threads.emplace_back([&, i] { run_shard(net, endpoint, i); });
  for (std::uint32_t i = 0; i < job.workers; ++i) {
    threads.emplace_back([&, i] { run_worker(net, endpoint, i, options, model, data); });
  }
  host(scheduler, scheduler_node, *link, [&](const Envelope& envelope) { note(result, envelope); });
  for (std::thread& thread : threads) thread.join();
  result.stop = scheduler.outcome();
  return result;
}

namespace {

// One step of all parameters, as on one machine.
void step(const Job& job, Snapshot& at, const std::vector<float>& gradient, double scale, double rate) {
  std::vector<float> next(job.layout.size());
  for (const Range& range : job.layout.ranges) {
    const auto part = [&](auto& whole) {
      return std::span(whole).subspan(range.begin, range.end - range.begin);
    };
    std::vector<float> state;
    for (auto& slot : at.state) state.insert(state.end(), part(slot).begin(), part(slot).end());
    const nn::Update update{part(next), part(at.parameters), part(gradient), scale, at.steps};
    if (range.rule == Rule::ema) {
      nn::ema_step(update, range.keep);
    } else if (range.norm_group != 0) {
      nn::TensorStep tensor(job.optimizer, range.decay);
      tensor.measure(update, state);
      tensor.finish(update, state, rate * range.rate, tensor.ratio());
    } else {
      nn::step(job.optimizer, update, state, rate * range.rate, range.decay);
    }
    auto from = state.begin();
    for (auto& slot : at.state) {
      std::copy_n(from, part(slot).size(), part(slot).begin());
      from += static_cast<std::ptrdiff_t>(part(slot).size());
    }
  }
  at.parameters = std::move(next);
  ++at.steps;
}

}  // namespace

Snapshot plain_loop(const Job& job, const nn::Model& model, const DataSets& data, const Snapshot& from,
                    std::uint64_t rounds, const std::vector<std::uint32_t>& shares) {
  Snapshot at = from;
  at.state.resize(nn::state_slots(job.optimizer), std::vector<float>(job.layout.size()));
  nn::Network network(model);
  EpochCursor cursor(job, at.progress);
  const std::uint64_t features = data.train->shape().size();
  const std::uint32_t most = shares.empty() ? nn::largest_micro_batch : *std::ranges::max_element(shares);
  std::vector<float> inputs(features * most), gradient(job.layout.size());
  std::vector<std::uint32_t> labels(most);
  std::vector<std::uint64_t> positions(most);
  for (std::uint64_t round = 0; round < rounds; ++round, cursor.advance()) {
    const Interval batch = cursor.positions();
    const Permutation order(job.train_samples, hash(job.seed, cursor.epoch()));
    std::ranges::fill(gradient, 0.0F);
    auto share = shares.begin();
    for (Position p = batch.begin; p < batch.end;) {
      std::uint32_t count = 0;
      const std::uint32_t size = shares.empty() ? most : *share++;
      for (; count < size && p < batch.end; ++count, ++p) {
        data.train->read(order(p), inputs.data() + count * features, &labels[count]);
        positions[count] = p;
      }
      network.train(at.parameters,
                    {inputs.data(), labels.data(), positions.data(), size, count, job.seed, cursor.epoch()},
                    gradient, true, nullptr);
    }
    step(job, at, gradient, 1.0 / static_cast<double>(batch.size()),
         nn::learning_rate(job.schedule, cursor.epochs_done()));
  }
  at.progress = cursor.progress(at.progress.term, 0);
  return at;
}

}  // namespace steelyard::test
