// MessageTimes: how long the messages of a traced job were on their way, and how long their receivers handled
// them, by kind (app/report/timeline.h).
//
// One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace steelyard {

class MessageTimes {
 public:
  // `what` and the nodes' ids as in a trace, for example "push 4/1", "worker-3f2a" and "shard-1b".
  void travelled(const std::string& what, const std::string& from, const std::string& to,
                 double microseconds);
  void handled(const std::string& what, const std::string& node, double microseconds);

  // A line for each kind: number, median and 90th percentile in microseconds. Empty without messages.
  [[nodiscard]] std::string table() const;

 private:
  std::map<std::string, std::vector<double>> travelled_, handled_;
};

}  // namespace steelyard
