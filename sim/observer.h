// Observers of a world: checkers, recorders and scripts of tests.
//
// A world tells its observers in the order in which they came. All that they are given lives as long as the
// call. An observer may kill, cut, pause and start nodes whenever it is told something.
#pragma once

#include "sim/hosted.h"

namespace steelyard::sim {

class Observer {
 public:
  virtual ~Observer() = default;

  // A message is there, and its node alive; answers of compute nodes too. False: it is lost, and those that
  // come later are not told.
  virtual bool arrives(const Envelope&) { return true; }
  // A machine has taken in a message, or was woken (null), and what it said is on its way.
  virtual void stepped(const Hosted&, const Envelope*) {}
  virtual void ordered(NodeId /*worker*/, const Compute&) {}  // with parameters
  virtual void told(const ToRecorder&) {}                     // what is meant for people
  virtual void killed(NodeId) {}
};

}  // namespace steelyard::sim
