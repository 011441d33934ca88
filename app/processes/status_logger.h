// StatusLogger: a link that logs the state of its server or worker: the job it joined, its work (at most one
// line a minute), silence and return of the scheduler, and the end.
//
// Forwards all messages unchanged. One thread, the link's.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "protocol/machine.h"
#include "transport/exchanged.h"
#include "transport/link.h"

namespace steelyard {

struct Waiting {
  Duration limit{};  // 0: nothing is logged
  Duration between = std::chrono::seconds(10);
};

class StatusLogger : public Link {
 public:
  // `name`: the name of the server or worker. `device`: of a worker; empty for a server. `say` prints one
  // line. The link outlives this.
  // `wait`: for how long it waits for the scheduler, which it logs every
  // ten seconds.
  StatusLogger(Link& link, std::string name, std::string device, std::function<void(const std::string&)> say,
               Waiting wait = {});

  void connect(NodeId peer, const std::string& endpoint) override { link_.connect(peer, endpoint); }
  void disconnect(NodeId peer) override { link_.disconnect(peer); }
  void send(Envelope envelope) override;
  std::optional<Envelope> receive(Time deadline) override;
  void post(std::vector<Envelope> envelopes) override { link_.post(std::move(envelopes)); }

  void exchange(NodeId shard, Exchanged by);  // logs how values are exchanged with this shard
  void over(const ExitReason& ending);        // logs the end

 private:
  void heard(const Envelope& in, Time now);
  void joined(const Welcome& welcome, const std::string& what, std::uint32_t places);
  void look_for_silence(Time now);
  void tell_waiting(Time now);
  [[nodiscard]] std::string done() const;
  [[nodiscard]] std::string server(NodeId shard) const;  // its name

  Link& link_;
  const std::string name_, device_;
  const std::function<void(const std::string&)> say_;
  const Waiting wait_;
  const Time began_ = steady_now();
  Time waiting_told_ = began_;
  std::string job_;                       // once joined
  std::map<NodeId, std::string> shards_;  // names, from a worker's Roster
  Duration timeout_{};
  Time heard_{}, told_{};
  bool silent_ = false, ready_ = false;
  std::uint64_t pieces_ = 0, samples_ = 0, pushes_ = 0;
  double seconds_ = 0;  // of computing
};

}  // namespace steelyard
