#pragma once

#include <string_view>

namespace flatbuffers {
struct String;
}

namespace etlab {

bool is_utf8(std::string_view text);

// A text of a program, which may be missing or be no text at all. Throws kInvalidProgram naming
// `what`: not valid UTF-8, or missing or longer than `limit` bytes.
std::string_view checked_text(const flatbuffers::String* text, const char* what,
                              size_t limit = size_t{1} << 16);

}  // namespace etlab
