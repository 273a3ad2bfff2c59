#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/core/span.h"

namespace etlab {

// What a program needs of the address of its first byte: FlatBuffers and constants count from it.
constexpr size_t kDataAlignment = 16;

// The bytes of a file, all of them, at an address that stays.
class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual Span<const uint8_t> bytes() const = 0;
  // Gives the memory of a mapped file back to the system, which reads the pages again where they are
  // used; does nothing for other bytes. Nobody notices but those who count memory.
  virtual void drop_pages() const {}
};

// Memory of somebody who keeps it alive; copied only when it is not aligned.
std::unique_ptr<DataSource> view_memory(Span<const uint8_t> bytes);
// The file's content as it is now: changing or deleting the file afterwards does not matter.
std::unique_ptr<DataSource> read_file(const std::string& path);
// The file mapped into memory: pages are read when they are used and shared between processes. The
// file must not be cut short while it is mapped, for the system then ends the process. Where the
// system has no mapping this is read_file.
std::unique_ptr<DataSource> map_file(const std::string& path);

}  // namespace etlab
