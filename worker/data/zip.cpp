#include "worker/data/zip.h"

#include <zip.h>

#include <algorithm>
#include <span>

#include "core/error.h"
#include "worker/data/byte_source.h"

namespace steelyard {
namespace {

constexpr const char* make_again = "make the archive again, with numpy.savez or numpy.savez_compressed";

[[noreturn]] void refuse_archive(const FileBytes& archive, const std::string& trouble,
                                 const std::string& remedy = get_again) {
  throw Failure(ExitCode::io, archive.file.string() + ": " + trouble + ": " + remedy);
}

// An error of libzip; releases its memory.
struct ZipError {
  ZipError() { zip_error_init(&error); }
  ~ZipError() { zip_error_fini(&error); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  std::string text() { return zip_error_strerror(&error); }
  zip_error_t error;
};

}  // namespace

ZipArchive::ZipArchive(FileBytes bytes) : bytes_(std::move(bytes)) {
  if (bytes_.size() == 0)
    refuse_archive(bytes_, "it is empty, not a zip archive");  // libzip would create one
  ZipError failed;
  source_ = zip_source_buffer_create(bytes_.bytes.data(), bytes_.size(), 0, &failed.error);
  if (source_ == nullptr) refuse_archive(bytes_, "it cannot be read (" + failed.text() + ')');
  zip_t* const opened = zip_open_from_source(source_, ZIP_RDONLY, &failed.error);
  if (opened == nullptr) {
    zip_source_free(source_);
    refuse_archive(bytes_, "it is not a zip archive, or is truncated or damaged (" + failed.text() + ')');
  }
  zip_ = {opened, zip_discard};
  const auto count = static_cast<std::uint64_t>(zip_get_num_entries(opened, 0));
  for (std::uint64_t i = 0; i < count; ++i) {
    const char* const name = zip_get_name(opened, i, ZIP_FL_ENC_RAW);
    names_.emplace_back(name == nullptr ? "" : name);
  }
}

FileBytes ZipArchive::unpacked(std::size_t index) const {
  const auto wrong = [&](const std::string& trouble, const std::string& remedy = get_again) {
    refuse_archive(bytes_, "its entry '" + names_.at(index) + "' " + trouble, remedy);
  };
  zip_stat_t entry;
  zip_stat_init(&entry);
  if (zip_stat_index(zip_.get(), index, 0, &entry) != 0) wrong("cannot be read");
  if (entry.encryption_method != ZIP_EM_NONE) wrong("is encrypted", make_again);
  if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE)
    wrong("is packed by method " + std::to_string(entry.comp_method), make_again);
  const bool stored = entry.comp_method == ZIP_CM_STORE;
  if (entry.comp_size > bytes_.size() || entry.size / (stored ? 1 : best_ratio) > entry.comp_size)
    wrong("cannot have " + std::to_string(entry.size) + " bytes, packed in " +
          std::to_string(entry.comp_size) + " of a file of " + std::to_string(bytes_.size()));

  const std::shared_ptr<zip_file_t> file(zip_fopen_index(zip_.get(), index, 0), [](zip_file_t* open) {
    if (open != nullptr) zip_fclose(open);
  });
  if (file == nullptr) wrong(std::string("cannot be opened (") + zip_strerror(zip_.get()) + ')');
  const auto read = [&](std::span<std::uint8_t> into) {
    const zip_int64_t done = zip_fread(file.get(), into.data(), into.size());
    if (done < 0) wrong(std::string("is damaged (") + zip_file_strerror(file.get()) + ')');
    return static_cast<std::uint64_t>(done);
  };

  // A stored entry is read only for its CRC-32, which libzip checks at the end of the entry.
  const std::uint64_t room = stored ? std::min<std::uint64_t>(entry.size, 1 << 16) : entry.size;
  const auto values = std::make_shared_for_overwrite<std::uint8_t[]>(room + 1);
  std::uint64_t size = 0;
  for (std::uint64_t done = 0; size <= entry.size; size += done) {
    done = read({values.get() + (stored ? 0 : size), stored ? room + 1 : room + 1 - size});
    if (done == 0) break;
  }
  if (size != entry.size) wrong("does not have the size given in the directory");
  FileBytes result{bytes_.file.string() + ":" + names_[index], {values.get(), size}, values};
  if (!stored) return result;
  // libzip has just read the entry to its end.
  const zip_int64_t end = size == 0 ? 0 : zip_source_tell(source_);
  if (end < 0 || static_cast<std::uint64_t>(end) < size || static_cast<std::uint64_t>(end) > bytes_.size())
    wrong("cannot be found in the file");
  result.bytes = bytes_.bytes.subspan(static_cast<std::uint64_t>(end) - size, size);
  result.owner = bytes_.owner;
  return result;
}

}  // namespace steelyard
