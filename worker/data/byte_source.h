// ByteSource: the bytes of a file from its beginning to its end, unpacked if its content is gzip (RFC 1952),
// whatever its name says. Several gzip members in a row are one stream; anything else behind one is damage.
//
// Memory is a few fixed blocks, whatever the file claims about itself. Not for two threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "worker/data/file_bytes.h"
#include "worker/data/samples.h"

namespace steelyard {

// Byte text for language models: the bytes of one file, or of all files of a folder and of the folders in it
// one behind the other, in the order of their paths. Files may be gzipped; plain ones are mapped.
//
// A sample is `context` bytes as inputs, 0 to 255, and for each of them the byte that follows as its label:
// 256 classes, `context` labels. Samples follow each other without overlap. The last tenth of the bytes is
// the test set.
class ByteText final : public DataSet {
 public:
  // Bytes [begin, end) of the files; end - begin > context > 0.
  ByteText(std::vector<FileBytes> files, std::uint64_t begin, std::uint64_t end, std::uint32_t context);

  [[nodiscard]] std::uint64_t size() const override { return (end_ - begin_ - 1) / context_; }
  [[nodiscard]] nn::Shape shape() const override { return {1, context_, 1}; }
  [[nodiscard]] std::uint32_t classes() const override { return 256; }
  [[nodiscard]] std::uint32_t labels() const override { return context_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;

 private:
  std::vector<FileBytes> files_;       // none of them empty
  std::vector<std::uint64_t> begins_;  // of each file, in bytes from the first
  std::uint64_t begin_, end_;
  std::uint32_t context_;
};

// Throws Failure (io) for what cannot be read, and (configuration) for a text that is too short.
DataSets open_byte_text(const std::filesystem::path& path, std::uint32_t context);

// A deflate block needs at least one bit for a length code and one for a distance code, which stand for 258
// bytes at the most: 1032 bytes from one.
constexpr std::uint64_t best_ratio = 1032;

class ByteSource {
 public:
  explicit ByteSource(const std::filesystem::path& file);  // throws Failure (io)
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Fills `into`, or as much of it as there is; returns how much. Throws Failure (io) if the gzip stream is
  // damaged or breaks off.
  std::size_t read(std::span<std::uint8_t> into);

  [[nodiscard]] bool is_packed() const;
  [[nodiscard]] std::uint64_t offset() const;  // unpacked bytes read so far
  // There cannot be more unpacked bytes than this: the size of the file, or what gzip at its best makes of
  // it. A size in the file that is larger is wrong, and need not be allocated.
  [[nodiscard]] std::uint64_t most() const;
  [[nodiscard]] const std::filesystem::path& file() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
