// The thread of a scheduler's process that loads and saves the model.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "server/checkpoint/checkpointer.h"
#include "transport/link.h"

namespace steelyard {

// Hosts the checkpointer until it is told to stop. Nothing that goes wrong in it ends the process: `say` gets
// one line for each different trouble, and a second later the checkpointer goes on; the training does so
// meanwhile. Checkpointer and link are this thread's until it returns.
void keep(const std::stop_token& told, Checkpointer& checkpointer, NodeId node, Link& link,
          const std::function<void(const std::string&)>& say);

}  // namespace steelyard
