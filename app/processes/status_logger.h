// StatusLogger: a link that tells people what becomes of the server or worker behind it. What it joined; what
// it does, a line a minute at most; that it lost sight of the scheduler and found it again; how it ended.
//
// It passes everything on and changes nothing. One thread, the link's.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "protocol/machine.h"
#include "transport/link.h"

namespace steelyard {

class StatusLogger : public Link {
 public:
  // `say` takes one line. `who` is its name among the others, `device` where a worker computes; the link
  // outlives it.
  StatusLogger(Link& link, std::string who, std::string device, std::function<void(const std::string&)> say);

  void connect(NodeId peer, const std::string& endpoint) override { link_.connect(peer, endpoint); }
  void disconnect(NodeId peer) override { link_.disconnect(peer); }
  void send(Envelope envelope) override;
  std::optional<Envelope> receive(Time deadline) override;
  void post(std::vector<Envelope> envelopes) override { link_.post(std::move(envelopes)); }

  void exchange(NodeId shard, bool lent);  // how values go there and back
  void over(const ExitReason& ending);     // its last word

 private:
  void heard(const Envelope& in, Time now);
  void joined(const Welcome& welcome, const std::string& what, std::uint32_t places);
  void look_for_silence(Time now);
  [[nodiscard]] std::string done() const;
  [[nodiscard]] std::string server(NodeId shard) const;  // its name

  Link& link_;
  const std::string who_, device_;
  const std::function<void(const std::string&)> say_;
  std::string job_;                       // once joined
  std::map<NodeId, std::string> shards_;  // as a worker was told
  Duration timeout_{};
  Time heard_{}, told_{};
  bool silent_ = false, ready_ = false;
  std::uint64_t pieces_ = 0, samples_ = 0, pushes_ = 0;
  double seconds_ = 0;  // of computing
};

}  // namespace steelyard
