#include "app/processes/initial_state.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <utility>

#include "app/config/prepare_job.h"
#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "app/processes/signals.h"
#include "core/error.h"
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "server/checkpoint/model_intake.h"
#include "transport/host.h"
#include "worker/data/samples.h"

namespace steelyard {
namespace {

constexpr std::chrono::seconds between_trials{1};

// Returns the error; empty if the checkpointer has finished without one.
std::string trouble_of_hosting(Checkpointer& checkpointer, NodeId node, Link& link) {
  try {
    host(checkpointer, node, link);
    return "";
  } catch (const std::bad_alloc&) {
    return "not enough memory to load or save the model";
  } catch (const std::exception& trouble) {
    return std::string("loading and saving the model failed: ") + trouble.what();
  } catch (...) {
    return "loading and saving the model failed for an unknown reason";
  }
}

// A worker answers at once, unless its framework is still busy.
const Duration upload_patience = from_seconds(30);

// Throws Failure if the description exceeds the scheduler's limits, which would close the connection.
void require_that_it_travels(const ModelDescription& model) {
  const Frames frames = encode(Message(std::in_place_type<ToScheduler>, model));
  const bool fits = frames.header.size() <= limits::to_scheduler &&
                    std::holds_alternative<Message>(decode(Role::scheduler, frames.header, {}));
  if (fits) return;
  throw Failure(ExitCode::configuration,
                "the description of the model cannot be sent to the scheduler: it takes " +
                    std::to_string(frames.header.size() / 1000 + 1) +
                    " kB, or one of its lists is too long; the scheduler takes " +
                    std::to_string(limits::to_scheduler / 1000) + " kB, " + std::to_string(limits::tensors) +
                    " tensors and " + std::to_string(limits::channels) +
                    " channels: make names of tensors shorter, or join small tensors");
}

constexpr std::uint64_t most_looked_at = 64;  // samples in the hash

std::string number(std::uint64_t value) { return std::to_string(value); }

void require_same_order(const std::string& path, const Manifest& from, const Job& job,
                        const SampleSource& source) {
  const std::string place = "the checkpoint " + path + " is in the middle of an epoch, at sample " +
                            number(from.progress.offset) + ", and its remaining samples depend on ";
  const std::string otherwise = ", or continue from a checkpoint at the end of an epoch";
  if (from.seed != job.seed) {
    refuse_setup("seed = " + number(job.seed) + " in [job]: " + place + "seed " + number(from.seed) +
                 ": resume with that" + otherwise);
  }
  const SampleSource& then = from.source;
  if (then.samples == 0) return;  // unknown
  if (then.samples != source.samples) {
    refuse_setup("name = \"" + source.data + "\" in [data] has " + number(source.samples) +
                 " training samples: " + place + "the " + number(then.samples) + " of \"" + then.data +
                 "\": resume with those" + otherwise);
  }
  if (then.hash != source.hash) {
    refuse_setup("name = \"" + source.data +
                 "\" in [data] gives other training samples than those trained on: " + place + "those of \"" +
                 then.data + "\": resume with the same [data]" + otherwise);
  }
}

// A random term above the checkpoint's, so that no other run resumed from it has the same one. Of two
// checkpoints of one version, the one with the higher term is newer. A step of 32 bits leaves room for
// billions of resumptions.
Term later_term(Term term) { return term + 1 + (new_node(Role::scheduler).number >> 32); }

// Whether the optimizer can continue with this state: moments of another kind would give steps of another
// size.
bool keeps_state(const Layout& layout, std::size_t slots, const Job& job) {
  const auto has_norms = [](const Layout& it) {
    return std::ranges::any_of(it.ranges, [](const Range& range) { return range.norm_group != 0; });
  };
  return slots == state_slots(job) && has_norms(layout) == has_norms(job.layout);
}

Snapshot completed(Snapshot snapshot, const Job& job, const SampleSource& source) {
  snapshot.layout = job.layout;
  snapshot.seed = job.seed;
  snapshot.fingerprint = fingerprint(job);
  snapshot.source = source;
  snapshot.on_workers = nn::steps_on_workers(job.optimizer);
  return snapshot;
}

}  // namespace

void keep(const std::stop_token& told, Checkpointer& checkpointer, NodeId node, Link& link,
          const std::function<void(const std::string&)>& say) {
  const std::stop_callback stop(told, [&] {
    link.post({{link_node, node, Message(std::in_place_type<ToCheckpointer>, Stop{})}});
  });
  std::string former;
  while (!checkpointer.finished()) {
    const std::string trouble = trouble_of_hosting(checkpointer, node, link);
    if (trouble.empty()) continue;
    if (std::exchange(former, trouble) != trouble)
      say(trouble + "; no checkpoint is written until that works again");
    if (told.stop_requested()) return;  // the link may fail for good, and would never deliver Stop
    std::this_thread::sleep_for(between_trials);
  }
}

std::optional<WorkersModel> model_of_workers(Link& link, std::uint64_t seed,
                                             const std::function<void(const std::string&)>& say) {
  const auto post = [&](auto message) {
    link.post({{link_node, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(message))}});
  };
  const SignalWatch signals([&](int) { post(Interrupt{}); }, {"Ctrl-C again exits immediately", {}},
                            [&] { post(Goodbye{}); });
  ModelIntake intake(seed, upload_patience, memory_of_machine());
  host(intake, scheduler_node, link, [&](const Envelope& envelope) {
    const auto* message = std::get_if<ToRecorder>(&envelope.message);
    if (const auto* note = message != nullptr ? std::get_if<Note>(message) : nullptr) say(note->text);
  });
  if (!intake.complete()) return std::nullopt;
  return WorkersModel{intake.model(), intake.take_weights()};
}

Worker::Options::Model model_to_tell(const Workload& workload) {
  struct Drawn {
    std::optional<std::uint64_t> seed;
    std::vector<float> weights;
  };
  ModelDescription description = describe(workload);
  require_that_it_travels(description);
  return {std::move(description),
          [workload, drawn = std::make_shared<Drawn>()](std::uint64_t seed, Interval floats) {
            if (drawn->seed != seed) drawn->weights = first_weights(workload, seed);
            drawn->seed = seed;
            return Blob::copy_of(std::span(drawn->weights).subspan(floats.begin, floats.size()));
          }};
}

ModelDescription describe(const Workload& workload) {
  ModelDescription model = described(workload);
  const DataSet& train = *workload.data.train;
  const std::uint64_t features = train.shape().size(), looks = std::min(most_looked_at, train.size());
  std::vector<float> values(looks * features);
  std::vector<std::uint32_t> labels(looks * train.labels());
  std::vector<float> targets(looks * train.targets());
  for (std::uint64_t i = 0; i < looks; ++i) {
    const std::uint64_t index = i * train.size() / looks;
    read_sample(train, index, values.data() + i * features, labels.data() + i * train.labels(),
                targets.data() + i * train.targets(),
                [&] { return "data set '" + model.data + "', training sample " + number(index); });
  }
  std::vector<std::byte> all;
  const auto add = [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  add(std::as_bytes(std::span(values)));
  add(std::as_bytes(std::span(labels)));
  add(std::as_bytes(std::span(targets)));
  model.data_hash = seal(all).xxh3_128;
  model.mean = workload.data.normalization.mean;
  model.deviation = workload.data.normalization.deviation;
  return model;
}

namespace {

// SampleSource::layers, as in the job file: "linear, outputs = 3".
std::vector<std::string> layer_texts(const Job& job) {
  std::vector<std::string> texts;
  for (const ModelLayer& layer : job.model_layers) {
    if (layer.kind == "dropout") continue;
    std::string text = layer.kind;
    if (!layer.inputs.empty()) text += ", inputs = " + joined(layer.inputs);
    for (const auto& [name, value] : layer.options) text += ", " + name + " = " + value;
    texts.push_back(std::move(text));
  }
  return texts;
}

// Why the layers differ; empty: they do not. Their names are those of tensors.
std::string other_layers(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  const auto [was, is] = std::ranges::mismatch(before, now);
  if (was == before.end() && is == now.end()) return {};
  const auto shown = [](const auto& layer, const std::vector<std::string>& all) {
    return layer == all.end() ? "missing" : "'" + *layer + "'";
  };
  return "layer " + number(static_cast<std::uint64_t>(was - before.begin()) + 1) + " (without dropout) was " +
         shown(was, before) + ", and is " + shown(is, now);
}

}  // namespace

SampleSource sample_source(const Job& job, const ModelDescription& model) {
  SampleSource source{model.data,      model.train_samples, model.data_hash, job.global_batch, model.mean,
                      model.deviation, model.height,        model.width,     model.channels,   model.classes};
  source.layers = layer_texts(job);
  return source;
}

void require_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path + "/" + manifest_file, ignored)) return;
  std::string near = "runs/job-1/checkpoints/1180";
  for (const std::string& place : {path + "/checkpoints", path}) {
    const std::vector<std::string> there = list_checkpoints(place);
    if (!there.empty()) near = there.front();
  }
  throw Failure(ExitCode::usage, "--resume-from " + path + ": not a checkpoint: it has no " + manifest_file +
                                     ": give the directory of a checkpoint, as in " + near);
}

std::vector<std::string> check_resumable(const std::string& path, const Manifest& checkpoint, const Job& job,
                                         const SampleSource& source) {
  if (checkpoint.layout.tensors != job.layout.tensors) {
    refuse_setup("the checkpoint " + path + " is of another model than '" + job.model +
                 "': resume with the job that wrote it");
  }
  if (const std::string why = other_layers(checkpoint.source.layers, source.layers); !why.empty()) {
    refuse_setup("the checkpoint " + path + " is of another model: " + why +
                 " in [[model.layer]]: resume with the job that wrote it");
  }
  if (checkpoint.on_workers() != nn::steps_on_workers(job.optimizer)) {
    refuse_setup("optimizer in [train]: in the checkpoint " + path + ", " +
                 (checkpoint.on_workers() ? "workers took the steps (step=\"here\" in their script)"
                                          : "servers took the steps") +
                 ": resume with the same script");
  }
  if (checkpoint.progress.offset > 0) require_same_order(path, checkpoint, job, source);
  if (checkpoint.progress.offset >= job.train_samples) {
    refuse_setup("the checkpoint " + path + " is at sample " + number(checkpoint.progress.offset) +
                 " of its epoch, and the data set has " + number(job.train_samples) +
                 ": resume with the data that it was trained on");
  }
  std::vector<std::string> notes;
  if (checkpoint.seed != job.seed) {
    notes.push_back("seed = " + number(job.seed) + " in [job] from here on; it was " +
                    number(checkpoint.seed) + " before");
  }
  const bool other = checkpoint.source.hash != source.hash || checkpoint.source.samples != source.samples;
  if (checkpoint.source.samples > 0 && other) {
    notes.push_back("[data]: other training samples from here on; they were " +
                    number(checkpoint.source.samples) + " of \"" + checkpoint.source.data + "\" before");
  }
  if (checkpoint.state_slots > 0 && !keeps_state(checkpoint.layout, checkpoint.state_slots, job)) {
    notes.emplace_back("[train]: another optimizer from here on; its state starts at zero");
  }
  return notes;
}

std::vector<float> first_weights(const Workload& workload, std::uint64_t seed) {
  std::vector<float> weights(workload.layout.size());
  workload.initialize(weights, seed);
  return weights;
}

Snapshot fresh_beginning(const Job& job, const SampleSource& source, std::vector<float> weights) {
  Snapshot snapshot;
  snapshot.parameters = std::move(weights);
  // A random term, so that messages of a former run on the same ports have no effect.
  snapshot.progress.term = new_node(Role::scheduler).number >> 16;
  return completed(std::move(snapshot), job, source);
}

Snapshot resumed_beginning(const std::string& path, const Job& job, const SampleSource& source) {
  (void)check_resumable(path, read_manifest(path), job, source);
  Snapshot snapshot = read_checkpoint(path);
  snapshot.progress.term = later_term(snapshot.progress.term);
  if (snapshot.on_workers) snapshot.parameters.assign(job.layout.size(), 0.0F);
  if (!keeps_state(snapshot.layout, snapshot.state.size(), job)) {
    snapshot.state.clear();
    snapshot.steps = 0;
  }
  return completed(std::move(snapshot), job, source);
}

}  // namespace steelyard
