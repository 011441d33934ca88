// HeldEnd: a second descriptor of somebody's connection, which tells who has ended that.
//
// libzmq tells that a connection has ended, and not why: either the system of the other process has closed
// it, or libzmq has, because the other process did not answer heartbeats. A process that is stopped has not
// ended.
//
// Nothing is read. While it lives, the other end does not see that the first descriptor was closed.
#pragma once

namespace steelyard {

class HeldEnd {
 public:
  explicit HeldEnd(int descriptor);  // the caller's stays the caller's
  ~HeldEnd();
  HeldEnd(HeldEnd&& other) noexcept;
  HeldEnd& operator=(HeldEnd&&) = delete;
  HeldEnd(const HeldEnd&) = delete;
  HeldEnd& operator=(const HeldEnd&) = delete;

  // The other end has closed it, or the system has given it up; also where no descriptor was left to hold it.
  [[nodiscard]] bool closed_there() const;

 private:
  int descriptor_;
};

}  // namespace steelyard
