#include "runtime/core/error.h"
#include "runtime/core/file_header.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/program.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/statistics.h"

const bool etlab::fuzz::kWantsRuns = false;

// Loads the bytes as a program and asks what is in it. Errors are answers; everything else,
// sanitizer reports above all, is a bug.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etlab::fuzz::Statistics& statistics = etlab::fuzz::statistics();
  ++statistics.executions;
  try {
    etlab::read_file_header({data, size});
    ++statistics.headers;
    const auto program = etlab::Program::load(etlab::view_memory({data, size}));
    ++statistics.programs;
    for (const std::string& name : program->method_names()) {
      const etlab::MethodMeta meta = etlab::method_meta(*program, name);
      for (size_t i = 0; i < meta.instructions.size(); ++i) {
        etlab::instruction_source(program->plan(name), i);
      }
    }
  } catch (const etlab::Error&) {
  }
  return 0;
}
