#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/core/backend.h"
#include "runtime/core/file_header.h"
#include "runtime/core/schema.h"
#include "runtime/core/span.h"
#include "runtime/core/tensor_file.h"

namespace etlab {

// The bytes that a program refers to by index. Every function checks the index, the offset and the
// size against the file and throws kInvalidProgram, so that no caller can read past its end.
class ProgramData : public NamedData {
 public:
  // `external` are the .ptd files loaded with the program.
  ProgramData(const schema::Program& root, const FileLayout& layout,
              Span<const std::unique_ptr<const TensorFile>> external)
      : root_(root), layout_(layout), external_(external) {}

  Span<const uint8_t> segment(size_t index) const;
  // The bytes of constant `index`, at an address that is a multiple of `alignment`.
  Span<const uint8_t> constant(size_t index, size_t nbytes, size_t alignment) const;
  // The first value of a mutable tensor, entry `index` of mutable_data_segments[list].
  Span<const uint8_t> initial_value(size_t list, size_t index, size_t nbytes) const;
  Span<const uint8_t> delegate_payload(
      const schema::BackendDelegateDataReference& reference) const;
  // The bytes of a tensor that the program leaves to a .ptd file.
  Span<const uint8_t> external(std::string_view key, const Tensor& like) const;
  // Of the program or one of the .ptd files.
  Span<const uint8_t> get(std::string_view key) const override;

 private:
  Span<const uint8_t> entry(const schema::SubsegmentOffsets& offsets, size_t index, size_t nbytes,
                            const char* what) const;

  const schema::Program& root_;
  FileLayout layout_;
  Span<const std::unique_ptr<const TensorFile>> external_;
};

}  // namespace etlab
