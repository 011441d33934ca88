// Batches: the global batches that rounds consist of, and their times.
//
// Events and draws refer to global batches in every sync mode: without local steps a round is one batch, with
// local steps it is several. Batches are numbered over the whole job.
#pragma once

#include <cstdint>

#include "protocol/messages.h"
#include "sim/simulated_device.h"

namespace steelyard::sim {

class Batches {
 public:
  struct Range {
    Round first = 0;
    std::uint64_t count = 1;
  };

  // `all`: number of batches of the job. The devices must outlive this object.
  Batches(const Job& job, const Devices& devices, std::uint64_t all);

  [[nodiscard]] std::uint64_t in(std::uint64_t positions) const;          // number of batches
  [[nodiscard]] Round at(std::uint64_t epoch, Interval positions) const;  // in which they begin
  [[nodiscard]] Range of(Round round) const;                              // of which the round consists
  [[nodiscard]] Round last_of(const Compute& order) const;                // in which a computation ends

  // Milliseconds that a worker takes for a piece begun `at_s` seconds after the first round: as drawn, or
  // without noise for a share of a round with this many `workers` (at least one).
  [[nodiscard]] double drawn_ms(std::size_t worker, const Compute& order, double at_s) const;
  [[nodiscard]] double true_ms(std::size_t worker, Round round, std::uint64_t share, double at_s,
                               std::uint64_t workers) const;

 private:
  [[nodiscard]] Round first_of(const Compute& order) const;  // without local steps
  [[nodiscard]] double balanced_ms(std::size_t worker, Range batches, std::uint64_t share, double at_s,
                                   std::uint64_t workers) const;

  const SyncMode mode_;
  const std::uint64_t batch_, grain_, samples_, epochs_, all_;
  const Devices& devices_;
};

}  // namespace steelyard::sim
