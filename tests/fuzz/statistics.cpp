#include "tests/fuzz/statistics.h"

#include <cinttypes>
#include <cstdio>

namespace etlab::fuzz {

namespace {

class Printed : public Statistics {
 public:
  ~Printed() {
    const auto percent = [this](uint64_t part) {
      return executions == 0 ? 0.0 : 100.0 * static_cast<double>(part) /
                                         static_cast<double>(executions);
    };
    std::fprintf(stderr,
                 "executions %" PRIu64 ", header passed %" PRIu64 " (%.1f %%), loaded %" PRIu64
                 " (%.1f %%), methods prepared %" PRIu64 ", executed %" PRIu64
                 ", of which an instruction or more %" PRIu64 ", to the end %" PRIu64 "\n",
                 executions, headers, percent(headers), programs, percent(programs), methods, runs,
                 computed, finished);
  }
};

}  // namespace

Statistics& statistics() {
  static Printed printed;
  return printed;
}

}  // namespace etlab::fuzz
