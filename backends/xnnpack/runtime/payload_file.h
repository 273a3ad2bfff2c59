#pragma once

#include <memory>

#include "backends/xnnpack/payload/payload_generated.h"
#include "runtime/core/aligned_buffer.h"
#include "runtime/core/span.h"

namespace etlab {

namespace payload = xnnpack;  // what flatc makes of payload.fbs

// The bytes of a delegate taken apart: a header (layout in payload/file.py), the FlatBuffer,
// constants behind it; or the FlatBuffer alone.
struct PayloadFile {
  const payload::Graph* graph = nullptr;
  bool has_constant_region = false;
  Span<const uint8_t> constants;
  AlignedBuffer copy;  // of the FlatBuffer, where the bytes given do not suit it
};

// Verifies the FlatBuffer. Throws kInvalidProgram.
PayloadFile open_payload(Span<const uint8_t> bytes);

}  // namespace etlab
