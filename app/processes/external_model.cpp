#include "app/processes/external_model.h"

#include <memory>

#include "core/error.h"
#include "app/processes/beginning.h"
#include "app/processes/signals.h"
#include "app/processes/within_memory.h"
#include "server/checkpoint/model_intake.h"
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "transport/host.h"

namespace steelyard {
namespace {

// A worker answers at once; its framework may be busy for a while with what it had begun.
const Duration upload_patience = from_seconds(30);

// The scheduler would cut a connection that brings more.
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

}  // namespace

std::optional<WorkersModel> model_of_workers(Link& link, std::uint64_t seed,
                                             const std::function<void(const std::string&)>& say) {
  const auto post = [&](auto message) {
    link.post({{link_node, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(message))}});
  };
  const SignalWatch signals([&](int) { post(Interrupt{}); }, {"Ctrl-C again ends at once", {}},
                            [&] { post(Leave{}); });
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

}  // namespace steelyard
