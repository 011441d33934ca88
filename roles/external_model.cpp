#include "roles/external_model.h"

#include <memory>

#include "roles/beginning.h"
#include "roles/signals.h"
#include "server/model_intake.h"
#include "wire/transport/host.h"

namespace steelyard {
namespace {

// A worker answers at once; its framework may be busy for a while with what it had begun.
const Duration patience = from_seconds(30);

}  // namespace

std::optional<WorkersModel> model_of_workers(Link& link, std::uint64_t seed,
                                             const std::function<void(const std::string&)>& say) {
  const auto post = [&](auto message) {
    link.post({{link_node, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(message))}});
  };
  const SignalWatch signals([&](int) { post(Interrupt{}); }, {"Ctrl-C again ends at once", {}},
                            [&] { post(Leave{}); });
  ModelIntake intake(seed, patience);
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
  return {describe(workload),
          [workload, drawn = std::make_shared<Drawn>()](std::uint64_t seed, Interval floats) {
            if (drawn->seed != seed) drawn->weights = first_weights(workload, seed);
            drawn->seed = seed;
            return Blob::copy_of(std::span(drawn->weights).subspan(floats.begin, floats.size()));
          }};
}

}  // namespace steelyard
