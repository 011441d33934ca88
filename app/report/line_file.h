// A file that grows by lines and never stops its owner: lines are gathered and written twice a second at
// most, or in blocks of 64 KB.
//
// When the disk is full, lines wait in memory for better times, a megabyte of them; more are dropped and
// counted. A line is on the disk whole or not at all, once the disk has room again.
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"

namespace steelyard {

class LineFile {
 public:
  // Whether the file may be a symbolic link. The logs of processes may not: a link could lead out of the run
  // directory.
  enum class Links : bool { refuse, follow };

  // Goes on behind what is there. Throws Failure (io) if it cannot be opened.
  explicit LineFile(std::string path, Links links = Links::follow);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void add(const std::string& line, Time now);  // without its newline
  void flush(Time now);                         // now, however short ago the last time was

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& trouble() const {
    return trouble_;
  }                                                                 // why writing fails; empty: it does not
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  // lines

 private:
  std::string path_;
  int file_ = -1;
  std::string waiting_;
  Time last_;
  std::string trouble_;
  std::uint64_t dropped_ = 0;
};

}  // namespace steelyard
