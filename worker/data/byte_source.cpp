#include "worker/data/byte_source.h"

#include <zlib.h>
#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>

#include "core/check.h"
#include "worker/data/file_bytes.h"

namespace steelyard {
namespace {

constexpr std::size_t block_size = 1 << 16;
constexpr int gzip_only = 16 + MAX_WBITS;  // makes zlib accept gzip only

}  // namespace

// One block of the file, and zlib's state if the file is packed.
class ByteSource::State {
 public:
  explicit State(const std::filesystem::path& path) : file(path) {
    std::error_code trouble;
    if (!std::filesystem::is_regular_file(path, trouble))
      refuse_file(file, "does not exist, or is not a file");
    stored_ = std::filesystem::file_size(path, trouble);
    stream_.open(path, std::ios::binary);
    if (trouble || !stream_) refuse_file(file, "cannot be opened for reading");
    // The content decides, not the name: files are often packed or unpacked without being renamed.
    refill();
    packed = zip_.avail_in >= 2 && block_[0] == 0x1F && block_[1] == 0x8B;
    if (packed) CHECK(inflateInit2(&zip_, gzip_only) == Z_OK, "zlib cannot be initialised");
  }
  ~State() {
    if (packed) inflateEnd(&zip_);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // read() for a plain file
  std::size_t copy(std::span<std::uint8_t> into) {
    std::size_t done = 0;
    while (done < into.size() && (zip_.avail_in > 0 || refill())) {
      const std::size_t part = std::min<std::size_t>(into.size() - done, zip_.avail_in);
      std::copy_n(zip_.next_in, part, into.begin() + static_cast<std::ptrdiff_t>(done));
      zip_.next_in += part;
      zip_.avail_in -= static_cast<uInt>(part);
      done += part;
    }
    return done;
  }

  // read() for a gzipped one
  std::size_t unpack(std::span<std::uint8_t> into) {
    std::size_t done = 0;
    while (done < into.size()) {
      if (zip_.avail_in == 0 && !refill()) {
        if (member_open_)
          refuse_file(file, "is truncated inside its gzip stream, at byte " + std::to_string(taken_));
        break;
      }
      member_open_ = true;
      const std::size_t part = std::min(into.size() - done, block_size);
      zip_.next_out = into.data() + done;
      zip_.avail_out = static_cast<uInt>(part);
      const int result = inflate(&zip_, Z_NO_FLUSH);
      done += part - zip_.avail_out;
      if (result == Z_STREAM_END) {
        // Only another member may follow; zlib checks it with the next input.
        member_open_ = false;
        CHECK(inflateReset(&zip_) == Z_OK, "zlib does not start again");
        // Z_BUF_ERROR is not an error: more input is needed.
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        refuse_file(file,
                    "has a damaged gzip stream near its byte " + std::to_string(taken_ - zip_.avail_in));
      }
    }
    return done;
  }

  [[nodiscard]] std::uint64_t most() const {
    const std::uint64_t ratio = packed ? best_ratio : 1;
    return stored_ > UINT64_MAX / ratio ? UINT64_MAX : stored_ * ratio;
  }

  const std::filesystem::path file;
  bool packed = false;
  std::uint64_t offset = 0;

 private:
  bool refill() {
    stream_.read(reinterpret_cast<char*>(block_.data()), block_size);
    if (stream_.bad()) refuse_file(file, "cannot be read");
    zip_.next_in = block_.data();
    zip_.avail_in = static_cast<uInt>(stream_.gcount());
    taken_ += zip_.avail_in;
    return zip_.avail_in > 0;
  }

  std::ifstream stream_;
  std::uint64_t stored_ = 0, taken_ = 0;  // bytes of the file, and bytes of it read so far
  std::array<std::uint8_t, block_size> block_{};
  z_stream zip_{};            // its next_in and avail_in serve files that are not packed, too
  bool member_open_ = false;  // inside a gzip member
};

ByteSource::ByteSource(const std::filesystem::path& file) : state_(std::make_unique<State>(file)) {}
ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(std::span<std::uint8_t> into) {
  const std::size_t done = state_->packed ? state_->unpack(into) : state_->copy(into);
  state_->offset += done;
  return done;
}

void ByteSource::read_up_to(std::uint64_t count, std::vector<std::uint8_t>& values) {
  constexpr std::uint64_t step = 1 << 20;
  while (values.size() < count) {
    const std::uint64_t before = values.size(), part = std::min(step, count - before);
    values.resize(before + part);
    const std::size_t done = read(std::span(values).subspan(before));
    values.resize(before + done);
    if (done < part) return;
  }
}

bool ByteSource::is_packed() const { return state_->packed; }
std::uint64_t ByteSource::offset() const { return state_->offset; }
std::uint64_t ByteSource::most() const { return state_->most(); }
const std::filesystem::path& ByteSource::file() const { return state_->file; }

}  // namespace steelyard
