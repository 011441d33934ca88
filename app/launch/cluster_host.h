// Host: where processes run, as their supervisor sees it. Messages to it and from it are those of
// app/launch/pipes.h, whether they cross a connection (RemoteHost) or stay in this process (LocalHost).
#pragma once

#include <vector>

#include "app/launch/pipes.h"
#include "core/time.h"

namespace steelyard {

class Host {
 public:
  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  virtual void tell(const ToHost& message) = 0;
  // What has come since the last call, without waiting; HostReady is the first of all. Throws Failure when
  // the host is lost; then it is to be left.
  virtual std::vector<FromHost> hear(Time now) = 0;
  virtual void leave() = 0;                     // nothing more is told
  [[nodiscard]] virtual bool over() const = 0;  // it has been left, and nothing runs there
};

}  // namespace steelyard
