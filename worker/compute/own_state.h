// OwnState: the compute node's part in jobs whose workers take the optimizer steps (worker/own_steps.h). It
// calls the engine's Stepper with every version in order, and writes and reads the worker's state.
//
// While a state is being loaded, versions arrive that follow it. At most `most_in_memory` of them stay in
// memory; the others wait in a temporary file.
//
// Used on the computing thread.
#pragma once

#include <steelyard/engine.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

// A temporary file of this process in $TMPDIR, removed with the object. Throws Failure (io) if it cannot be
// created, for example because the disk is full.
std::shared_ptr<StateFile> temporary_state_file();

// Versions in the order of their arrival.
class VersionQueue {
 public:
  static constexpr std::size_t most_in_memory = 2;

  void add(const TakeStep& step);
  // The version of the first element; nothing if it is empty.
  [[nodiscard]] std::optional<Version> first() const;
  TakeStep take();  // the first element

 private:
  std::deque<TakeStep> steps_;  // without values: they are in the file
  std::shared_ptr<StateFile> file_;
  std::uint64_t begin_ = 0, end_ = 0;  // bytes of the file that are waiting
};

class OwnState {
 public:
  using Post = std::function<void(std::vector<ToWorker>)>;

  // `stepper` belongs to the engine and outlives this.
  OwnState(Stepper& stepper, Post post) : stepper_(stepper), post_(std::move(post)) {}

  // The next version has arrived. Takes all steps that follow the present state.
  void take(const TakeStep& step);
  // Writes the state of that version now, or after the step that makes it.
  void write(const WriteState& order);
  void read(const ReadState& order);

 private:
  void take_steps();
  void write_if_due();

  Stepper& stepper_;
  const Post post_;
  VersionQueue queue_;
  std::optional<Version> version_;   // of the state; nothing: it has none
  std::optional<WriteState> order_;  // not written yet
};

}  // namespace steelyard
