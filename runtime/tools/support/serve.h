#pragma once

#include <istream>
#include <ostream>

#include "runtime/tools/support/session.h"

namespace etlab {

// "invalid argument", "operator missing" …: the kind of an error in words.
const char* words_of(ErrorKind kind);

// Answers command lines, arguments separated by tabs, until the input ends; that end stops what is
// running then, for nobody waits for it any more.
void serve(Session& session, std::istream& in, std::ostream& out);

}  // namespace etlab
