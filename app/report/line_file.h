// A file that grows by lines. They are written twice a second at most, or in blocks of 64 KB.
//
// While the disk is full, up to 1 MB of lines wait in memory; further ones are dropped and counted. After the
// disk has room again, each line in the file is complete.
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

  // Appends to an existing file. Throws Failure (io) if it cannot be opened. `part_bytes`: after that many
  // bytes the file becomes a closed part (core/record_parts.h), and a new one is begun; 0: never.
  explicit LineFile(std::string path, Links links = Links::follow, std::uint64_t part_bytes = 0);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void add(const std::string& line, Time now);  // without its newline
  void flush(Time now);                         // writes now

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& trouble() const {
    return trouble_;  // reason of a failed write; empty: none
  }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  // lines

 private:
  void begin_part();

  std::string path_;
  const std::uint64_t part_bytes_;
  int file_ = -1;
  std::string waiting_;
  Time last_;
  std::string trouble_;
  std::uint64_t dropped_ = 0;
};

}  // namespace steelyard
