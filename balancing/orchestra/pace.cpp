#include "balancing/orchestra/pace.h"

#include "balancing/orchestra/actor_critic.h"
#include "balancing/orchestra/hill_climb.h"

namespace steelyard::balancing::orchestra {
namespace {

std::unique_ptr<BarrierController> made(const PaceOptions& options) {
  if (options.controller == Controller::actor_critic) return std::make_unique<ActorCritic>(options.seed);
  return std::make_unique<HillClimb>();
}

}  // namespace

Pace::Pace(PaceOptions options) : options_(options), controller_(made(options)), period_(1, options.unit) {}

Pace::Pace(const Pace& other)
    : options_(other.options_),
      controller_(other.controller_->clone()),
      reward_(other.reward_),
      period_(other.period_),
      barriers_(other.barriers_),
      steps_(other.steps_),
      now_(other.now_),
      before_(other.before_) {}

Pace& Pace::operator=(const Pace& other) { return *this = Pace(other); }

void Pace::begin(double longest_batches) { period_ = BarrierPeriod(longest_batches, options_.unit); }

void Pace::count_round(double mean_steps) {
  ++barriers_;
  steps_ += mean_steps;
}

void Pace::ended(const RoundEnd& round) {
  if (now_.number > 0 && round.epoch != now_.number) forget_epoch();
  const auto positions = static_cast<double>(round.positions);
  now_.number = round.epoch;
  now_.positions += positions;
  now_.right += round.accuracy * positions;
  now_.seconds += round.seconds;
}

void Pace::next_epoch(const std::vector<BarrierView::Worker>& workers) {
  const double accuracy = now_.accuracy();
  if (accuracy > 0) {
    const bool gain = before_ > 0 && now_.seconds > 0;
    const int reward = gain ? reward_(accuracy - before_, now_.seconds, steps_) : 0;
    period_.move(controller_->decide({workers, barriers_, accuracy}, reward));
  }
  forget_epoch();
}

void Pace::save(StateWriter& writer) const {
  writer.count(static_cast<std::uint64_t>(options_.controller)).real(longest_batches());
  writer.count(barriers_).real(steps_).real(before_);
  writer.count(now_.number).real(now_.positions).real(now_.right).real(now_.seconds);
  reward_.save(writer);
  controller_->save(writer);
}

void Pace::restore(StateReader& reader) {
  const std::uint64_t kind = reader.count(1);
  reader.require(kind == static_cast<std::uint64_t>(options_.controller), "another barrier controller");
  begin(reader.real());
  barriers_ = reader.count();
  steps_ = reader.real();
  before_ = reader.real();
  now_.number = reader.count();
  now_.positions = reader.real();
  now_.right = reader.real();
  now_.seconds = reader.real();
  reader.require(steps_ >= 0 && now_.positions >= 0 && now_.seconds >= 0, "a sum is negative");
  reward_.restore(reader);
  controller_->restore(reader);
}

}  // namespace steelyard::balancing::orchestra
