// The journal of a run on disk (wire/journal.h): RUN/journal.
//
// Each record is written with one write() before it is answered, and not synced: what a process has written
// stays when it is killed. When the machine dies, servers and workers on it do too, and the last checkpoint
// is the way back. A journal that cannot be written any more, or has reached its limit, is emptied, for one
// with a gap would tell another story. The empty file stays: without any, no job would have begun here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

class JournalFile {
 public:
  // Bytes: read again in some seconds.
  static constexpr std::uint64_t usual_limit = 256 << 20;

  // A new one, which begins with these bytes; whatever was there is replaced as a whole.
  JournalFile(std::string path, const std::vector<std::byte>& head, std::uint64_t limit = usual_limit);
  // Goes on behind the first `size` bytes of one that is there. Throws Failure (io).
  JournalFile(std::string path, std::uint64_t size, std::uint64_t limit = usual_limit);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  // False: it ends here, and is emptied; trouble() says why. Once only, then nothing is written any more.
  bool write(const std::vector<std::byte>& record);
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  bool give_up(const std::string& why);

  const std::string path_;
  const std::uint64_t limit_;
  std::uint64_t size_ = 0;
  int file_ = -1;  // negative: none is written
  std::string trouble_;
};

// All of it; empty also if there is none. Throws Failure (io).
std::vector<std::byte> read_journal(const std::string& path);

}  // namespace steelyard
