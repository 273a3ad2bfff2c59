#include "runtime/core/file_header.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "runtime/core/checked.h"
#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr size_t kIdentifierOffset = 4;
constexpr size_t kHeaderOffset = 8;         // magic, u32 length, u64 sizes, little endian
constexpr size_t kHeaderEnd = 32;           // up to the segment base
constexpr size_t kHeaderWithSizeEnd = 40;   // and the size of the segment data
constexpr char kIdentifier[] = "ET12";
constexpr char kHeaderMagic[] = "eh00";

constexpr size_t kTensorHeaderEnd = 48;  // u64: FlatBuffer offset and size, segment base and size
constexpr char kTensorIdentifier[] = "FT01";
constexpr char kTensorHeaderMagic[] = "FH01";

bool has_text(Span<const uint8_t> file, size_t offset, const char* text) {
  return file.size() >= offset + 4 && std::equal(text, text + 4, file.begin() + offset);
}

uint64_t read_number(Span<const uint8_t> file, size_t offset, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = bytes; i-- > 0;) number = number << 8 | file[offset + i];
  return number;
}

// The four identifying bytes as text that fits any terminal.
std::string printable(Span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += byte >= 32 && byte < 127 ? static_cast<char>(byte) : '?';
  return text;
}

// The segments behind the FlatBuffer; a size of 0 means up to the end of the file.
Span<const uint8_t> segments_of(Span<const uint8_t> file, uint64_t flatbuffer_end, uint64_t base,
                                uint64_t size, const char* what) {
  ETLAB_CHECK(base >= flatbuffer_end && base <= file.size(), kInvalidProgram, what,
              ": header puts the segments at ", base, ", the FlatBuffer ends at ", flatbuffer_end,
              " and the file at ", file.size(), " (truncated?)");
  const size_t rest = file.size() - static_cast<size_t>(base);
  ETLAB_CHECK(size <= rest, kInvalidProgram, what, ": header promises ", size,
              " bytes of segments, the file has ", rest, " (truncated?)");
  return file.subspan(static_cast<size_t>(base), size != 0 ? static_cast<size_t>(size) : rest);
}

}  // namespace

FileLayout read_file_header(Span<const uint8_t> file) {
  ETLAB_CHECK(file.size() >= kHeaderOffset, kInvalidProgram, "program: ", file.size(),
              " bytes are too few for a .pte file; it is empty or cut short: copy or export it again");
  ETLAB_CHECK(!has_text(file, kIdentifierOffset, kTensorIdentifier), kInvalidProgram,
              "program: this is a .ptd file, the tensors that some program keeps outside of its "
              "file; load the .pte that was exported with it and give this file as data_path");
  ETLAB_CHECK(has_text(file, kIdentifierOffset, kIdentifier), kInvalidProgram,
              "program: bytes 4 to 8 are '", printable(file.subspan(kIdentifierOffset, 4)),
              "', a .pte file has '", kIdentifier, "' there");
  if (!has_text(file, kHeaderOffset, kHeaderMagic)) return {file, {}};

  ETLAB_CHECK(file.size() >= kHeaderWithSizeEnd, kInvalidProgram, "program: the file ends after ",
              file.size(), " bytes, within its header; it is cut short: copy or export it again");
  const uint64_t header_length = read_number(file, 12, 4);
  ETLAB_CHECK(header_length >= kHeaderEnd - kHeaderOffset, kInvalidProgram,
              "program: header of ", header_length, " bytes, at least 24 expected");
  const uint64_t program_size = read_number(file, 16, 8);
  const uint64_t segment_base = read_number(file, 24, 8);
  ETLAB_CHECK(program_size >= kHeaderWithSizeEnd && program_size <= file.size(), kInvalidProgram,
              "program: header promises ", program_size, " bytes of program, the file has ",
              file.size(), " (truncated?)");
  FileLayout layout{file.subspan(0, static_cast<size_t>(program_size)), {}};
  if (segment_base == 0) return layout;

  const bool has_size = header_length >= kHeaderWithSizeEnd - kHeaderOffset;
  layout.segments = segments_of(file, program_size, segment_base,
                                has_size ? read_number(file, 32, 8) : 0, "program");
  return layout;
}

FileLayout read_tensor_file_header(Span<const uint8_t> file) {
  ETLAB_CHECK(file.size() >= kTensorHeaderEnd, kInvalidProgram, "tensor file: ", file.size(),
              " bytes are too few for a .ptd file");
  ETLAB_CHECK(has_text(file, kIdentifierOffset, kTensorIdentifier) &&
                  has_text(file, kHeaderOffset, kTensorHeaderMagic),
              kInvalidProgram, "tensor file: bytes 4 to 12 are '",
              printable(file.subspan(kIdentifierOffset, 8)), "', a .ptd file has '",
              kTensorIdentifier, kTensorHeaderMagic, "' there");
  const uint64_t header_length = read_number(file, 12, 4);
  ETLAB_CHECK(header_length >= kTensorHeaderEnd - kHeaderOffset, kInvalidProgram,
              "tensor file: header of ", header_length, " bytes, at least 40 expected");
  const uint64_t begin = read_number(file, 16, 8);
  const uint64_t size = read_number(file, 24, 8);
  ETLAB_CHECK(begin <= file.size() && size <= file.size() - begin, kInvalidProgram,
              "tensor file: header puts ", size, " bytes of FlatBuffer at ", begin,
              ", the file has ", file.size(), " (truncated?)");
  const Span<const uint8_t> flatbuffer = file.subspan(0, static_cast<size_t>(begin + size));
  return {flatbuffer, segments_of(file, flatbuffer.size(), read_number(file, 32, 8),
                                  read_number(file, 40, 8), "tensor file")};
}

}  // namespace etlab
