#pragma once

#include <cstdint>

#include "runtime/core/span.h"

namespace etlab {

// Where the parts of a .pte or .ptd file lie: the FlatBuffer at its front, the segments behind it.
struct FileLayout {
  Span<const uint8_t> flatbuffer;
  Span<const uint8_t> segments;  // from the segment base; empty without an extended header
};

// Reads and checks the first bytes: identifier, extended header, sizes against the file's.
// Throws kInvalidProgram saying what the file is instead, or where it ends.
FileLayout read_file_header(Span<const uint8_t> file);
// The same for a .ptd file.
FileLayout read_tensor_file_header(Span<const uint8_t> file);

}  // namespace etlab
