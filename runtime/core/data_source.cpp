#include "runtime/core/data_source.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/error.h"

namespace etlab {

namespace {

class ViewedMemory : public DataSource {
 public:
  explicit ViewedMemory(Span<const uint8_t> bytes) : bytes_(bytes) {}
  Span<const uint8_t> bytes() const override { return bytes_; }

 private:
  Span<const uint8_t> bytes_;
};

class OwnedMemory : public DataSource {
 public:
  explicit OwnedMemory(AlignedBuffer buffer) : buffer_(std::move(buffer)) {}
  Span<const uint8_t> bytes() const override { return {buffer_.data(), buffer_.size()}; }

 private:
  AlignedBuffer buffer_;
};

}  // namespace

std::unique_ptr<DataSource> view_memory(Span<const uint8_t> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kDataAlignment == 0) {
    return std::make_unique<ViewedMemory>(bytes);
  }
  AlignedBuffer copy(bytes.size(), "program data");
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return std::make_unique<OwnedMemory>(std::move(copy));
}

std::unique_ptr<DataSource> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  ETLAB_CHECK(file.is_open(), kAccessFailed, "cannot open ", path, ": ", std::strerror(errno));
  const std::streamoff size = file.tellg();
  const bool is_ordinary = size >= 0 && size != std::numeric_limits<std::streamoff>::max();
  ETLAB_CHECK(is_ordinary, kAccessFailed, "cannot read ", path, ": it is no ordinary file");
  AlignedBuffer content(static_cast<size_t>(size), "program data");
  file.seekg(0);
  file.read(reinterpret_cast<char*>(content.data()), size);
  ETLAB_CHECK(file.gcount() == size, kAccessFailed, "cannot read ", path, ": got ", file.gcount(),
              " of ", size, " bytes");
  return std::make_unique<OwnedMemory>(std::move(content));
}

}  // namespace etlab
