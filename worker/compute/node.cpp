#include "worker/compute/node.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "nn/cpu/onednn.h"
#include "nn/optimizer/vector.h"
#include "wire/sync_mode.h"

namespace steelyard {
namespace {

constexpr std::size_t most_tasks = 1024;  // given and not begun; give() then waits
// Beyond these, announcements have no effect: of announced pieces, and of pieces that are not done.
constexpr std::size_t most_announced = 4, most_given = 64;
const Duration progress_every = milliseconds(200);
const Duration reading_ages = milliseconds(100);  // younger than that, the meter's last answer is still good

[[noreturn]] void refuse(const std::string& message) { throw Failure(ExitCode::configuration, message); }

// Data sets of different sizes would give the same position different samples.
void require_samples(const char* which, std::uint64_t here, std::uint64_t in_job) {
  if (in_job == 0 || here == in_job) return;  // 0: the job does not say
  refuse(std::string("the ") + which + " set has " + std::to_string(here) + " samples here and " +
         std::to_string(in_job) + " in the job: use the same data on all machines");
}

// A worker may have been started with other data, another version of the program or other models than the
// rest of the job. It must not join: its gradients would be sums of something else.
//
// The layout, once it is known that everything fits together.
Layout checked_layout(const nn::Model& model, const DataSets& data, const Job& job) {
  model.check();
  if (data.train->shape() != model.input() || data.train->classes() != model.classes()) {
    refuse("the model takes samples of " + to_string(model.input()) + " in " +
           std::to_string(model.classes()) + " classes, data set '" + job.data + "' has " +
           to_string(data.train->shape()) + " in " + std::to_string(data.train->classes()) +
           ": make the model for this data set");
  }
  require_samples("training", data.train->size(), job.train_samples);
  require_samples("test", data.test->size(), job.test_samples);
  const Layout own = model.layout();
  if (job.layout.tensors != own.tensors || job.layout.size() != own.size()) {
    refuse("the job's layout is not that of model '" + job.model +
           "' as it is known here: use the same version"
           " of the program, and the same models of your own, on all machines");
  }
  return job.layout;
}

// Whether an announcement means this work. The piece alone is not enough: it may have been cut since.
bool same_work(const Compute& a, const Compute& b) {
  return a.round == b.round && a.purpose == b.purpose && a.epoch == b.epoch && a.piece == b.piece &&
         a.positions == b.positions && a.local == b.local;
}

// The mean over so many positions, if it is longer than the job wants it.
void shorten(std::span<float> gradient, std::uint64_t positions, double longest) {
  const auto factor = static_cast<float>(nn::clipping(gradient, static_cast<double>(positions), longest));
  if (factor == 1) return;
  for (float& value : gradient) value *= factor;
}

}  // namespace

ComputeNode::ComputeNode(Link& mail, NodeId worker, const nn::Model& model, DataSets data, const Job& job,
                         Handicap handicap)
    : mail_(mail),
      worker_(worker),
      model_name_(job.model),
      model_(model),
      slices_(slices(checked_layout(model, data, job))),
      train_samples_(data.train->size()),
      test_samples_(data.test->size()),
      local_(parse_sync(job.sync).is_local()),
      clip_norm_(parse_sync(job.sync).at_once ? job.clip_norm : 0),
      gradients_(model.parameters()),
      stepper_(job),
      pace_(std::move(handicap)),
      feed_(std::move(data), job.seed),
      inbox_(most_tasks) {
  thread_ = std::thread([this] { run(); });
}

// Closing wakes both threads; the one that computes ends within the micro-batches that are ready.
ComputeNode::~ComputeNode() {
  feed_.close();
  inbox_.close();
  thread_.join();
}

// ---- the worker's thread

void ComputeNode::give(const Envelope& envelope) {
  const auto* message = std::get_if<ToCompute>(&envelope.message);
  if (!message) {
    ++ignored_;
    return;
  }
  std::visit([this](const auto& said) { take(said); }, *message);
}

void ComputeNode::take(const Compute& compute) {
  // Positions come from outside; parameters were put together by our own worker.
  if (!possible(compute)) {
    ++ignored_;
  } else if (!compute.parameters) {
    announce(compute);
  } else {
    CHECK(compute.parameters->size() == model_.parameters(), "the parameters have not the size of the model");
    inbox_.push({compute, request_for(compute)});
  }
}

// The requests are marked, not the rounds: rounds begin again at a lower number when training goes back to a
// checkpoint, and what is given then must not be taken for old.
void ComputeNode::take(const Abandon& abandon) {
  for (const auto& [round, weak] : given_) {
    const std::shared_ptr<FeedRequest> request = weak.lock();
    if (request && round < abandon.before) request->cancel();
  }
  std::erase_if(announced_, [&](const Task& task) { return task.compute.round < abandon.before; });
}

bool ComputeNode::possible(const Compute& compute) const {
  const std::uint64_t samples = compute.purpose == Purpose::train ? train_samples_ : test_samples_;
  return compute.positions.begin < compute.positions.end && compute.positions.end <= samples &&
         possible(compute.local, compute.purpose) &&
         (compute.local.steps == 0 || compute.whole.contains(compute.positions));
}

bool ComputeNode::possible(const LocalSteps& local, Purpose purpose) const {
  if (local.steps == 0) return !local_ || purpose == Purpose::evaluate;
  return local_ && purpose == Purpose::train && local.passes > 0 &&
         local.steps <= most_steps_in_round / local.passes;
}

void ComputeNode::announce(const Compute& compute) {
  const auto known = [&](const Task& task) { return same_work(task.compute, compute); };
  if (std::any_of(announced_.begin(), announced_.end(), known)) return;
  forget_expired();
  if (announced_.size() < most_announced && given_.size() < most_given) {
    announced_.push_back({compute, request(compute)});
  }
}

// The feed keeps the order of its requests, so an announcement that is overtaken by other work is dropped; if
// its turn comes after all, it is read again.
std::shared_ptr<FeedRequest> ComputeNode::request_for(const Compute& compute) {
  while (!announced_.empty()) {
    const Task first = std::move(announced_.front());
    announced_.pop_front();
    if (same_work(first.compute, compute)) return first.request;
    first.request->cancel();
  }
  forget_expired();
  return request(compute);
}

std::shared_ptr<FeedRequest> ComputeNode::request(const Compute& compute) {
  std::shared_ptr<FeedRequest> request =
      feed_.request(compute.purpose, compute.epoch, compute.positions, compute.local);
  given_.emplace_back(compute.round, request);
  return request;
}

// A request lives as long as its task and the feed need it.
void ComputeNode::forget_expired() {
  std::erase_if(given_, [](const auto& known) { return known.second.expired(); });
}

// ---- the computing thread

// Samples and gradients are a user's business too, and whatever they throw must not end the process unheard.
void ComputeNode::run() {
  try {
    work_on_tasks();
  } catch (const Failure& failure) {
    give_up(failure);
  } catch (const std::bad_alloc&) {
    const std::uint64_t floats = model_.parameters();
    give_up(Failure(ExitCode::failed,
                    "model '" + model_name_ + "': there is not enough memory to compute it: it has " +
                        std::to_string(floats) + " parameters, and a worker needs some five times their " +
                        std::to_string(floats * sizeof(float) / 1'000'000 + 1) +
                        " MB: make the model smaller"));
  } catch (const std::exception& trouble) {
    give_up(Failure(ExitCode::failed,
                    "model '" + model_name_ + "': computing it threw an exception: " + trouble.what()));
  }
}

// The worker leaves with it, and whoever hosts it asks for the failure.
void ComputeNode::give_up(const Failure& failure) {
  failure_ = failure;
  inbox_.close();
  post(Interrupt{failure.what()});
}

// The network is made on the thread that runs it: oneDNN plans its primitives for the threads it sees.
void ComputeNode::work_on_tasks() {
  nn::onednn::use_this_thread_only();
  nn::Network network(model_);
  while (const std::optional<Task> task = inbox_.pop()) {
    if (task->compute.local.steps > 0) {
      compute_locally(network, *task);
    } else {
      compute(network, *task);
    }
  }
}

// Time begins with the first micro-batch in hand: reading the first samples is not computing, and while the
// parameters were on their way it was done already.
void ComputeNode::compute(nn::Network& network, const Task& task) {
  const Compute& compute = task.compute;
  const bool training = compute.purpose == Purpose::train;
  const Gradient gradient = training ? gradients_.take() : nullptr;
  nn::Sums sums;
  Time start;
  std::uint64_t left = compute.positions.size();
  while (left > 0) {
    const nn::MicroBatch* batch = feed_.next(task.request);
    if (!batch) return;
    const bool first = left == compute.positions.size(), last = left == batch->count;
    if (first) start = begin_to_measure();
    sums += work(network, compute, *batch, first, last, gradient);
    left -= batch->count;
    tell_progress(compute);
  }
  if (training && clip_norm_ > 0) {
    shorten(gradient->span(), compute.positions.size(), clip_norm_);
    post_finals(compute, gradient, slices_.size(), 0);
  }
  answer(compute, seconds(steady_now() - start), sums);
}

// Time as above; stepping is computing. Sums are those of one pass, on average.
void ComputeNode::compute_locally(nn::Network& network, const Task& task) {
  const Compute& compute = task.compute;
  const Gradient moved = gradients_.take(), gradient = gradients_.take();
  stepper_.begin(compute, moved->span());
  nn::Sums sums;
  std::optional<Time> start;
  for (std::uint64_t at = 0; at < compute.local.passes * compute.local.steps; ++at) {
    const std::uint64_t pass = at / compute.local.steps, step = at % compute.local.steps;
    const std::uint64_t size = part_of(compute.positions, step, compute.local.steps).size();
    for (std::uint64_t left = size; left > 0;) {
      const nn::MicroBatch* batch = feed_.next(task.request);
      if (!batch) return;
      if (!start) start = begin_to_measure();
      pace_.begin();
      sums += network.train(stepper_.parameters(), *batch, gradient->span(), left != size, nullptr);
      left -= batch->count;
      if (left == 0) stepper_.step(gradient->span(), size, pass, step);
      pace_.rest();
      tell_progress(compute);
    }
  }
  post_finals(compute, moved, slices_.size(), 0);
  sums.loss /= static_cast<double>(compute.local.passes);
  sums.correct /= compute.local.passes;
  answer(compute, seconds(steady_now() - *start), sums);
}

Time ComputeNode::begin_to_measure() {
  (void)pace_.take_cpu();  // of what was given up
  return progress_told_ = steady_now();
}

// One micro-batch. The first of a piece overwrites what the recycled gradient held, the last one makes slices
// final: the network finishes layers from the end of the flat buffer to its beginning, so a slice is final
// once the gradient is final from its first float on.
nn::Sums ComputeNode::work(nn::Network& network, const Compute& compute, const nn::MicroBatch& batch,
                           bool first, bool last, const Gradient& gradient) {
  const std::span<const float> parameters = compute.parameters->span();
  pace_.begin();
  nn::Sums sums;
  if (compute.purpose == Purpose::evaluate) {
    sums = network.evaluate(parameters, batch);
  } else {
    std::size_t open = slices_.size();  // slices [0, open) may still change
    const nn::FinalRange on_final = [&](std::uint64_t begin, std::uint64_t) {
      if (open == 0 || slices_[open - 1].begin < begin) return;
      pace_.rest();  // a slow processor would have come here later
      open = post_finals(compute, gradient, open, begin);
    };
    const bool tell = last && clip_norm_ == 0;
    sums = network.train(parameters, batch, gradient->span(), !first, tell ? &on_final : nullptr);
    CHECK(!tell || open == 0, "a slice of the gradient never became final");
  }
  pace_.rest();
  return sums;
}

// Of slices [0, open) those that lie behind `begin`, from the last; which are still open then.
std::size_t ComputeNode::post_finals(const Compute& compute, const Gradient& values, std::size_t open,
                                     std::uint64_t begin) {
  for (; open > 0 && slices_[open - 1].begin >= begin; --open) {
    const Slice& slice = slices_[open - 1];
    const std::span<const float> its = values->span().subspan(slice.begin, slice.size());
    post(Final{compute.round, compute.piece, static_cast<std::uint32_t>(open - 1),
               Blob::of_floats(values, its)});
  }
  return open;
}

void ComputeNode::tell_progress(const Compute& compute) {
  const Time now = steady_now();
  if (now - progress_told_ < progress_every) return;
  progress_told_ = now;
  post(Advance{compute.piece});
}

void ComputeNode::answer(const Compute& compute, double seconds, const nn::Sums& sums) {
  const Time now = steady_now();
  if (now - measured_ >= reading_ages) {
    reading_ = meter_.measure();
    measured_ = now;
  }
  double cpu = reading_.cpu;
  // Of the share that others really leave, if that is known.
  if (const auto left = pace_.take_cpu()) cpu = *left * (cpu < 0 ? 1 : cpu);
  post(Computed{Report{.term = 0,
                       .round = compute.round,
                       .purpose = compute.purpose,
                       .piece = compute.piece,
                       .positions = compute.positions,
                       .seconds = seconds,
                       .loss = sums.loss,
                       .correct = sums.correct,
                       .cpu = cpu,
                       .memory = reading_.memory}});
}

void ComputeNode::post(ToWorker message) { mail_.post({compute_node, worker_, Message(std::move(message))}); }

}  // namespace steelyard
