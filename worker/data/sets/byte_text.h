// Byte text for language models: the bytes of one file, or of all files below a folder, concatenated in the
// order of their paths. Files may be gzipped; plain ones are mapped.
//
// A sample is `context` bytes as inputs, 0 to 255, and for each of them the next byte as its label: 256
// classes, `context` labels. Samples follow each other without overlap. The test set is another text, or
// the last part of the bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "worker/data/file_bytes.h"
#include "worker/data/samples.h"

namespace steelyard {

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

// Throws Failure (io) if a file cannot be read, and (configuration) if the text is too short.
//
// `test`: a file or folder; empty: the last part of the bytes, the share `holdout`, is the test set.
DataSets open_byte_text(const std::filesystem::path& path, std::uint32_t context,
                        const std::filesystem::path& test = {}, double holdout = 0.1);

}  // namespace steelyard
