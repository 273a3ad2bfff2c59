#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/run_trace.h"

namespace etlab {

using Runs = std::vector<std::unique_ptr<const RunTrace>>;

// A line an instruction that ran: how often, mean and least time, share of the whole.
void print_table(std::ostream& out, const Runs& runs, const MethodMeta& meta);
// run,instruction,kind,name,start_ns,duration_ns. Throws kAccessFailed.
void write_csv(const std::string& path, const Runs& runs, const MethodMeta& meta);
// An .etdp file. Throws kAccessFailed.
void write_etdump(const std::string& path, const Runs& runs, const MethodMeta& meta,
                  const Method& method);

}  // namespace etlab
