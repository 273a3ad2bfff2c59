#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/core/backend.h"
#include "runtime/core/file_header.h"
#include "runtime/core/schema.h"
#include "runtime/core/span.h"

namespace etlab {

// The bytes that a program refers to by index. Every function checks the index, the offset and the
// size against the file and throws kInvalidProgram, so that no caller can read past its end.
class ProgramData : public NamedData {
 public:
  ProgramData(const schema::Program& root, const FileLayout& layout)
      : root_(root), layout_(layout) {}

  Span<const uint8_t> segment(size_t index) const;
  // The bytes of constant `index`, at an address that is a multiple of `alignment`.
  Span<const uint8_t> constant(size_t index, size_t nbytes, size_t alignment) const;
  // The first value of a mutable tensor, entry `index` of mutable_data_segments[list].
  Span<const uint8_t> initial_value(size_t list, size_t index, size_t nbytes) const;
  Span<const uint8_t> delegate_payload(
      const schema::BackendDelegateDataReference& reference) const;
  Span<const uint8_t> get(std::string_view key) const override;

 private:
  Span<const uint8_t> entry(const schema::SubsegmentOffsets& offsets, size_t index, size_t nbytes,
                            const char* what) const;

  const schema::Program& root_;
  FileLayout layout_;
};

}  // namespace etlab
