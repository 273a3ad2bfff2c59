#include "backends/xnnpack/runtime/payload_file.h"

#include <cstring>

#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr size_t kHeaderSize = 30;
constexpr size_t kAlignment = 16;

template <typename T>
size_t read(Span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return static_cast<size_t>(value);
}

Span<const uint8_t> part(Span<const uint8_t> bytes, size_t offset, size_t size) {
  ETLAB_CHECK(offset <= bytes.size() && size <= bytes.size() - offset, kInvalidProgram,
              "the payload's header names ", size, " bytes at ", offset, ", but it has ",
              bytes.size(), "; it is damaged or cut short");
  return bytes.subspan(offset, size);
}

bool has_identifier(Span<const uint8_t> bytes, const char* identifier) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, identifier, 4) == 0;
}

}  // namespace

PayloadFile open_payload(Span<const uint8_t> bytes) {
  PayloadFile file;
  Span<const uint8_t> flatbuffer = bytes;
  if (has_identifier(bytes, "XH00")) {
    ETLAB_CHECK(bytes.size() >= kHeaderSize, kInvalidProgram, "the payload has ", bytes.size(),
                " bytes, fewer than its header; it is cut short");
    ETLAB_CHECK(read<uint16_t>(bytes, 8) >= kHeaderSize, kInvalidProgram,
                "the payload's header gives itself ", read<uint16_t>(bytes, 8),
                " bytes, it has at least ", kHeaderSize);
    flatbuffer = part(bytes, read<uint32_t>(bytes, 10), read<uint32_t>(bytes, 14));
    file.constants = part(bytes, read<uint32_t>(bytes, 18), read<uint64_t>(bytes, 22));
    file.has_constant_region = true;
  }
  ETLAB_CHECK(has_identifier(flatbuffer, "XN01") || has_identifier(flatbuffer, "XN00"),
              kInvalidProgram,
              "a payload begins with XN01 or XN00, this one does not; it was made for another "
              "backend, or is damaged");
  if (reinterpret_cast<uintptr_t>(flatbuffer.data()) % kAlignment != 0) {
    file.copy = AlignedBuffer(flatbuffer.size(), "an XNNPACK payload");
    std::memcpy(file.copy.data(), flatbuffer.data(), flatbuffer.size());
    flatbuffer = {file.copy.data(), flatbuffer.size()};
  }
  flatbuffers::Verifier verifier(flatbuffer.data(), flatbuffer.size());
  ETLAB_CHECK(verifier.VerifyBuffer<payload::Graph>(nullptr), kInvalidProgram,
              "the payload's FlatBuffer is damaged or cut short");
  file.graph = payload::GetGraph(flatbuffer.data());
  ETLAB_CHECK(file.graph->xvalues() != nullptr && file.graph->xnodes() != nullptr, kInvalidProgram,
              "the payload has no values or no nodes");
  return file;
}

}  // namespace etlab
