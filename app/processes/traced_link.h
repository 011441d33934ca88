// TracedLink: a link that writes down what the node behind it does: when it was busy with which message, what
// it said to others and heard of them, and when its worker computed (app/report/trace_file.h).
//
// It passes everything on and changes nothing. One thread, the link's.
#pragma once

#include <memory>
#include <string>

#include "app/report/trace_file.h"
#include "transport/link.h"

namespace steelyard {

class TracedLink : public Link {
 public:
  TracedLink(Link& link, std::unique_ptr<TraceFile> file);  // the link outlives it

  void connect(NodeId peer, const std::string& endpoint) override { link_.connect(peer, endpoint); }
  void disconnect(NodeId peer) override { link_.disconnect(peer); }
  void send(Envelope envelope) override;
  std::optional<Envelope> receive(Time deadline) override;
  void post(std::vector<Envelope> envelopes) override { link_.post(std::move(envelopes)); }

 private:
  void heard(const Envelope& in);

  Link& link_;
  const std::unique_ptr<TraceFile> file_;
  std::string handling_;  // since the last receive() gave it
  Time since_{};
};

// A traced link in the place of this one; null without a directory. Throws Failure (io).
std::unique_ptr<Link> traced(Link& link, const std::string& directory, NodeId self, const std::string& name);

}  // namespace steelyard
