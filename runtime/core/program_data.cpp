#include "runtime/core/program_data.h"

#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

Span<const uint8_t> ProgramData::segment(size_t index) const {
  ETLAB_CHECK(index < count(root_.segments()), kInvalidProgram, "segment ", index,
              " is referred to, the program has ", count(root_.segments()));
  const schema::DataSegment& segment = *root_.segments()->Get(static_cast<uint32_t>(index));
  const size_t available = layout_.segments.size();
  ETLAB_CHECK(segment.offset() <= available && segment.size() <= available - segment.offset(),
              kInvalidProgram, "segment ", index, " (", segment.size(), " bytes at ",
              segment.offset(), ") reaches past the end of the file, which has ", available,
              " bytes of segments (truncated?)");
  return layout_.segments.subspan(static_cast<size_t>(segment.offset()),
                                  static_cast<size_t>(segment.size()));
}

Span<const uint8_t> ProgramData::entry(const schema::SubsegmentOffsets& offsets, size_t index,
                                       size_t nbytes, const char* what) const {
  ETLAB_CHECK(index < count(offsets.offsets()), kInvalidProgram, what, " ", index,
              " is referred to, the program has ", count(offsets.offsets()));
  ETLAB_CHECK(is_aligned(offsets.offsets()), kInvalidProgram, what, " ", index,
              ": the table of offsets does not stand at a multiple of 8 bytes");
  const Span<const uint8_t> bytes = segment(offsets.segment_index());
  const uint64_t offset = offsets.offsets()->Get(static_cast<uint32_t>(index));
  ETLAB_CHECK(offset <= bytes.size() && nbytes <= bytes.size() - offset, kInvalidProgram, what, " ",
              index, " (", nbytes, " bytes at ", offset, ") reaches past the end of its segment of ",
              bytes.size(), " bytes");
  return bytes.subspan(static_cast<size_t>(offset), nbytes);
}

Span<const uint8_t> ProgramData::constant(size_t index, size_t nbytes, size_t alignment) const {
  Span<const uint8_t> bytes;
  if (root_.constant_segment() != nullptr && count(root_.constant_segment()->offsets()) > 0) {
    bytes = entry(*root_.constant_segment(), index, nbytes, "constant");
  } else {
    ETLAB_CHECK(index < count(root_.constant_buffer()), kInvalidProgram, "constant ", index,
                " is referred to, the program has ", count(root_.constant_buffer()));
    const auto* storage = root_.constant_buffer()->Get(static_cast<uint32_t>(index))->storage();
    ETLAB_CHECK(nbytes <= count(storage), kInvalidProgram, "constant ", index, " has ",
                count(storage), " bytes, its tensor needs ", nbytes);
    if (storage != nullptr) bytes = {storage->data(), nbytes};
  }
  ETLAB_CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0, kInvalidProgram,
              "constant ", index, " does not begin at a multiple of its element size, ", alignment);
  return bytes;
}

Span<const uint8_t> ProgramData::initial_value(size_t list, size_t index, size_t nbytes) const {
  ETLAB_CHECK(list < count(root_.mutable_data_segments()), kInvalidProgram,
              "mutable data segment ", list, " is referred to, the program has ",
              count(root_.mutable_data_segments()));
  return entry(*root_.mutable_data_segments()->Get(static_cast<uint32_t>(list)), index, nbytes,
               "initial value");
}

Span<const uint8_t> ProgramData::delegate_payload(
    const schema::BackendDelegateDataReference& reference) const {
  if (reference.location() == schema::DataLocation::SEGMENT) return segment(reference.index());
  ETLAB_CHECK(reference.location() == schema::DataLocation::INLINE, kInvalidProgram,
              "delegate data: unknown location ", static_cast<int>(reference.location()));
  ETLAB_CHECK(reference.index() < count(root_.backend_delegate_data()), kInvalidProgram,
              "delegate data ", reference.index(), " is referred to, the program has ",
              count(root_.backend_delegate_data()));
  const auto* data = root_.backend_delegate_data()->Get(reference.index())->data();
  return data == nullptr ? Span<const uint8_t>() : Span<const uint8_t>(data->data(), data->size());
}

Span<const uint8_t> ProgramData::external(std::string_view key, const Tensor& like) const {
  for (const auto& file : external_) {
    if (file->has(key)) return file->tensor(key, like);
  }
  fail(ErrorKind::kNotFound, "external tensor '", key, "' is in none of the ", external_.size(),
       " tensor files that were given; pass the .ptd file that was saved with the program"
       " (load_program: data_path, etlab.load: data, command line: --data)");
}

Span<const uint8_t> ProgramData::get(std::string_view key) const {
  for (uint32_t i = 0; i < count(root_.named_data()); ++i) {
    const schema::NamedData& item = *root_.named_data()->Get(i);
    if (item.key()->string_view() == key) return segment(item.segment_index());
  }
  for (const auto& file : external_) {
    if (file->has(key)) return file->get(key);
  }
  fail(ErrorKind::kNotFound, "named data: neither the program nor its ", external_.size(),
       " tensor files that were given have anything under '", key,
       "'; pass the .ptd file that was saved with the program (load_program: data_path,"
       " etlab.load: data, command line: --data)");
}

}  // namespace etlab
