// A directory for sockets that only this user can enter; removed at the end of the run.
//
// A killed process cannot remove its directory, so the next run does. The owner holds a lock on its directory
// until it exits; a directory with our prefix and no lock is abandoned. Only sockets are removed, and the
// directory itself if it is then empty.
#pragma once

#include <string>

namespace steelyard {

// Throws Failure (configuration) if the directory does not exist, or its path is too long for sockets in it.
void require_room_for_sockets(const std::string& directory);

class SocketDirectory {
 public:
  SocketDirectory();  // below the directory for temporary files; throws Failure if it cannot be created
  ~SocketDirectory();
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // open and locked; children do not inherit it
};

}  // namespace steelyard
