#include "runtime/core/data_source.h"

// Beside large_pages.cpp the one file of the core that asks the operating system for more than the
// C++ library has.
#if defined(__unix__) || defined(__APPLE__)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/error.h"

namespace etlab {

namespace {

class FileHandle {
 public:
  explicit FileHandle(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    ETLAB_CHECK(number_ >= 0, kAccessFailed, "cannot open ", path, ": ", std::strerror(errno));
  }
  ~FileHandle() { ::close(number_); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

class MappedFile : public DataSource {
 public:
  explicit MappedFile(const std::string& path) {
    const FileHandle file(path);
    struct stat status = {};
    ETLAB_CHECK(::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode), kAccessFailed,
                "cannot map ", path, ": it is no ordinary file");
    size_ = static_cast<size_t>(status.st_size);
    if (size_ == 0) return;  // an empty mapping does not exist
    address_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
    ETLAB_CHECK(address_ != MAP_FAILED, kAccessFailed, "cannot map ", path, ": ",
                std::strerror(errno));
  }
  ~MappedFile() override {
    if (size_ != 0 && address_ != MAP_FAILED) ::munmap(address_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  Span<const uint8_t> bytes() const override {
    return {static_cast<const uint8_t*>(address_), size_};
  }
  void drop_pages() const override {
    if (size_ != 0) ::madvise(address_, size_, MADV_DONTNEED);  // pages of a file that nobody wrote
  }

 private:
  void* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

std::unique_ptr<DataSource> map_file(const std::string& path) {
  return std::make_unique<MappedFile>(path);
}

}  // namespace etlab

#else

namespace etlab {

std::unique_ptr<DataSource> map_file(const std::string& path) { return read_file(path); }

}  // namespace etlab

#endif
