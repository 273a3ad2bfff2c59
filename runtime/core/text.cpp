#include "runtime/core/text.h"

#include <cstdint>

#include "runtime/core/error.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

// Bytes of the sequence that `lead` begins; 0 when no sequence begins so.
size_t sequence_length(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

// Overlong forms, surrogates and what lies over U+10FFFF show in the second byte.
bool is_second_byte(uint8_t lead, uint8_t second) {
  if (lead == 0xe0) return second >= 0xa0;
  if (lead == 0xed) return second < 0xa0;
  if (lead == 0xf0) return second >= 0x90;
  return lead != 0xf4 || second < 0x90;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = sequence_length(lead);
    if (length == 0 || length > text.size() - i) return false;
    for (size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      if ((byte & 0xc0) != 0x80 || (k == 1 && !is_second_byte(lead, byte))) return false;
    }
    i += length;
  }
  return true;
}

std::string_view checked_text(const flatbuffers::String* text, const char* what, size_t limit) {
  ETLAB_CHECK(text != nullptr, kInvalidProgram, what, " is missing");
  const std::string_view view(text->c_str(), text->size());
  ETLAB_CHECK(view.size() <= limit, kInvalidProgram, what, " has ", view.size(),
              " bytes, at most ", limit, " are allowed");
  ETLAB_CHECK(is_utf8(view), kInvalidProgram, what, " is not UTF-8 text");
  return view;
}

}  // namespace etlab
