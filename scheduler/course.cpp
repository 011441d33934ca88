#include "scheduler/course.h"

#include <algorithm>

#include "core/check.h"

namespace steelyard {

Course::Course(const Job& job, const Progress& from)
    : samples_(job.train_samples),
      batch_(job.global_batch),
      epochs_(job.epochs),
      rounds_(job.rounds),
      evaluate_every_(job.evaluate_every),
      checkpoint_every_(job.checkpoint_every),
      seconds_(job.seconds),
      round_(from.version),
      epoch_(from.epoch),
      offset_(from.offset) {
  CHECK(samples_ > 0 && batch_ > 0, "a job has samples and a batch");
  CHECK(offset_ < samples_, "a course begins inside an epoch");
}

Interval Course::positions() const { return {offset_, std::min(offset_ + batch_, samples_)}; }

double Course::epochs_done() const {
  return static_cast<double>(epoch_) + static_cast<double>(offset_) / static_cast<double>(samples_);
}

void Course::advance() {
  offset_ = positions().end;
  ++round_;
  if (offset_ == samples_) {
    offset_ = 0;
    ++epoch_;
  }
}

bool Course::over(double seconds) const {
  return (epochs_ > 0 && epoch_ >= epochs_) || (rounds_ > 0 && round_ >= rounds_) ||
         (seconds_ > 0 && seconds >= seconds_);
}

Progress Course::progress(Term term, double seconds) const {
  return {term, round_, epoch_, offset_, seconds, {}};
}

}  // namespace steelyard
