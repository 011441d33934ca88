// TensorboardFile: writes numbers of each round in TensorBoard's format.
//
// An event file: records of a length, its checksum, the event, and the event's checksum, all little-endian;
// checksums are CRC-32C, masked as TFRecord has them. An event is a protocol buffer (Event and Summary of
// TensorFlow), of which simple values are all that is written here.
//
// After a failed write nothing more is written: half a record would make the rest unreadable.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steelyard {

std::uint32_t crc32c(std::string_view bytes);  // Castagnoli's polynomial

class TensorboardFile {
 public:
  using Scalars = std::vector<std::pair<std::string, double>>;  // by tag, as in "train/loss"

  // A new file in this directory, which is made. `started`: seconds since 1970; in the file's name, so that
  // TensorBoard reads the files of a run that was resumed one after another. Throws Failure (io).
  TensorboardFile(const std::string& directory, double started);

  // Numbers that are not finite are left out. `at`: seconds since it started.
  void add(std::uint64_t step, double at, const Scalars& scalars);

 private:
  void record(const std::string& event);

  const double started_;
  std::ofstream file_;
};

}  // namespace steelyard
