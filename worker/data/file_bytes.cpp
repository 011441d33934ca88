#include "worker/data/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "worker/data/byte_source.h"

namespace steelyard {
namespace {

FileBytes unpacked(ByteSource& source) {
  auto values = std::make_shared<std::vector<std::uint8_t>>();
  source.read_up_to(UINT64_MAX, *values);
  const std::span<const std::uint8_t> bytes(*values);
  return {source.file(), bytes, std::move(values)};
}

}  // namespace

void refuse_file(const std::filesystem::path& file, const std::string& trouble) {
  throw Failure(ExitCode::io, file.string() + " " + trouble + ": " + get_again);
}

void refuse_byte(const std::filesystem::path& file, std::uint64_t offset, const std::string& trouble,
                 const std::string& remedy) {
  throw Failure(ExitCode::io,
                file.string() + ", byte " + std::to_string(offset) + ": " + trouble + ": " + remedy);
}

FileBytes map_bytes(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_file(file, "cannot be opened: " + std::generic_category().message(errno));
  const std::shared_ptr<const void> closed(nullptr, [descriptor](const void*) { ::close(descriptor); });
  struct stat state {};
  if (::fstat(descriptor, &state) != 0 || !S_ISREG(state.st_mode)) refuse_file(file, "is not a file");
  const auto size = static_cast<std::size_t>(state.st_size);
  if (size == 0) return {file, {}, {}};
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (at == MAP_FAILED) refuse_file(file, "cannot be mapped: " + std::generic_category().message(errno));
  return {file, {static_cast<const std::uint8_t*>(at), size}, {at, [size](void* whole) {
                                                                 ::munmap(whole, size);
                                                               }}};
}

FileBytes open_bytes(const std::filesystem::path& file) {
  ByteSource source(file);
  return source.is_packed() ? unpacked(source) : map_bytes(file);
}

}  // namespace steelyard
