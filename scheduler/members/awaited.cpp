#include "scheduler/members/awaited.h"

#include <algorithm>

#include "core/text.h"
#include "protocol/keys.h"

namespace steelyard {
namespace {

std::string silence_of(const ShardMember& server, Time now) {
  const auto whole = std::chrono::round<std::chrono::seconds>(now - server.last_heard);
  return std::to_string(whole.count()) + " s";
}

}  // namespace

EndOfWait end_of_wait(const ShardMember& server, Time now, Time counts_from, bool told_to_end,
                      const Job& job) {
  const Time heard = std::max(server.last_heard, counts_from);
  const bool closed =
      server.broken && now - std::max(heard, server.broken_since) > from_seconds(job.heartbeat_timeout);
  if (closed) return EndOfWait::proof;
  if (told_to_end) return EndOfWait::told_to_end;
  const bool over = job.server_wait > 0 && now - heard > from_seconds(job.server_wait);
  return over ? EndOfWait::time_is_up : EndOfWait::none;
}

std::string waits_for(const ShardMember& server, Time now, const Job& job) {
  const std::string limit =
      job.server_wait > 0 ? ", for " + number_text(job.server_wait) + " s at most (cluster.server_wait)" : "";
  return "server '" + server.name + "' at " + split_key(server.endpoint).address + " has been silent for " +
         silence_of(server, now) + ", and no mirror has its part of the model: the job waits for it" + limit +
         ". If the process is stopped, continue it (kill -CONT); if the line is cut, mend it; if the process "
         "or its machine is gone, end the job (Ctrl-C) and resume it";
}

std::string is_back(const ShardMember& server, Time now) {
  return "server '" + server.name + "' is there again after " + silence_of(server, now) + "; the job goes on";
}

std::string lost_with_its_part(const ShardMember& server, EndOfWait why) {
  const std::string is_lost = "server '" + server.name + "' is lost, and with it its part of the model";
  switch (why) {
    case EndOfWait::time_is_up:
      return is_lost + ": it was silent for longer than cluster.server_wait";
    case EndOfWait::told_to_end:
      return is_lost + ": it was silent when the job was told to end";
    default:
      return is_lost;
  }
}

}  // namespace steelyard
