// Conversation: a program on a host that answers one line of JSON for each line that it gets, over the
// command that reaches the host (app/config/reach.h). Its first line is HostReady (app/launch/pipes.h), as
// attend's. Other lines, as those of a login shell, are ignored. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/launch/launch_plan.h"
#include "app/launch/reached_command.h"
#include "core/error.h"
#include "core/json.h"
#include "core/time.h"

namespace steelyard {

class Conversation {
 public:
  // Starts the command of the host, which must outlive this. `roles` is what runs there, for messages.
  Conversation(const LaunchHost& host, std::string roles);

  void ask(const Json& question);
  // The answer to the last question, or nothing yet; before the first question, HostReady.
  [[nodiscard]] const std::optional<Json>& answer() const { return answer_; }
  [[nodiscard]] Time answered() const { return answered_; }
  // Why nothing more will come: the host cannot be reached, has no such program or another release, or was
  // silent for too long.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] const std::string& name() const { return host_.spec.name; }

  void look();                           // takes what has arrived
  void give_up(const std::string& why);  // a Failure (unreachable)

 private:
  const LaunchHost& host_;
  const std::string roles_;
  std::optional<Json> answer_;
  Time answered_;
  bool asked_ = false;
  std::optional<Failure> failure_;
  ReachedCommand command_;
};

// Waits until each has answered or failed; one that is silent for longer than `limit` fails.
void wait_for(const std::vector<Conversation*>& all, Duration limit, const std::string& what);

}  // namespace steelyard
